import type { Account } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { get } from '../../api/client.ts'
import { accountQuery } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { ProviderError } from '../../components/provider-error.tsx'
import { saveFile } from '../../components/save-file.ts'
import { Sheet, SheetSection } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { useAction } from '../../components/use-action.ts'
import { ApiKeysSection } from './api-keys-section.tsx'
import { DeletionSection } from './deletion-section.tsx'
import { EmailSection } from './email-section.tsx'
import { PasskeysSection } from './passkeys-section.tsx'
import { ProfileSection } from './profile-section.tsx'
import { ProvidersSection } from './providers-section.tsx'
import { RecoverySection } from './recovery-section.tsx'
import { SessionsSection } from './sessions-section.tsx'

export function AccountPage() {
  const { data, error, refetch } = useQuery(accountQuery)
  return (
    <Page title="Account" lead="Your profile, sign-in methods and stored data.">
      {data !== undefined && <Loaded account={data} />}
      {data === undefined && error === null && <Placeholder />}
      <ErrorNote error={error} onRetry={refetch} />
    </Page>
  )
}

function Loaded({ account }: { readonly account: Account }) {
  return (
    <>
      <LinkOutcome account={account} />
      <Sheet>
        <ProfileSection account={account} />
        <PasskeysSection account={account} />
        <RecoverySection account={account} />
        <ProvidersSection account={account} />
        <EmailSection />
        <SessionsSection account={account} />
        <ApiKeysSection />
        <WebhooksSection />
        <GrantIssuersSection />
        <ExportSection />
        <DeletionSection account={account} />
      </Sheet>
    </>
  )
}

function Placeholder() {
  return (
    <>
      <Loading what="your account" />
      <Skeleton className="h-[60rem]" />
    </>
  )
}

const route = getRouteApi('/signed-in/account')

/** The result of linking a provider, from the URL. */
function LinkOutcome({ account }: { readonly account: Account }) {
  const { linked, failed, code, request } = route.useSearch()
  if (failed !== undefined) {
    return (
      <ProviderError
        what="The account was not linked."
        cancelled="Linking was cancelled. Nothing has changed."
        provider={account.signInProviders.find(({ id }) => id === failed)?.label}
        code={code}
        request={request}
      />
    )
  }
  const provider = account.signInProviders.find(({ id }) => id === linked)
  if (!provider || provider.linkedAt === null) return null
  return (
    <div role="status">
      <Note tone="good">You can now sign in with {provider.label}.</Note>
    </div>
  )
}

/** Downloads the data that the service stores about the owner. */
export function ExportSection() {
  const download = useAction(async () => {
    const data = await get<object>('/api/account/export')
    saveFile('my-data.json', JSON.stringify(data, null, 2), 'application/json')
  })
  return (
    <SheetSection
      title="Your data"
      lead="All data that the service stores about you and your agents, as a JSON file without secrets."
    >
      <Button size="small" pending={download.pending} onClick={download.run} className="self-start">
        Download data
      </Button>
      <ErrorNote error={download.error} />
    </SheetSection>
  )
}

/** Leads to the grant issuers, which have a page of their own. */
export function GrantIssuersSection() {
  return (
    <SheetSection
      title="OAuth"
      lead="Your agents can get access tokens from OAuth authorization servers."
    >
      <Link to="/grant-issuers" className={`self-start ${buttonClass('secondary', 'small')}`}>
        Manage grant issuers
      </Link>
    </SheetSection>
  )
}

/** Leads to the endpoints, which have pages of their own. */
export function WebhooksSection() {
  return (
    <SheetSection
      title="Webhooks"
      lead="The service can send events of your agents to your endpoints."
    >
      <Link to="/webhooks" className={`self-start ${buttonClass('secondary', 'small')}`}>
        Manage webhooks
      </Link>
    </SheetSection>
  )
}
