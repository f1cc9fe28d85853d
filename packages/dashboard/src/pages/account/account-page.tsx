import type { Account } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { accountQuery } from '../../api/queries.ts'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { ProviderError } from '../../components/provider-error.tsx'
import { Sheet } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { ApiKeysSection } from './api-keys-section.tsx'
import { DeletionSection } from './deletion-section.tsx'
import { EmailSection } from './email-section.tsx'
import { ExportSection } from './export-section.tsx'
import { GrantIssuersSection } from './grant-issuers-section.tsx'
import { PasskeysSection } from './passkeys-section.tsx'
import { ProfileSection } from './profile-section.tsx'
import { ProvidersSection } from './providers-section.tsx'
import { RecoverySection } from './recovery-section.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { WebhooksSection } from './webhooks-section.tsx'

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
