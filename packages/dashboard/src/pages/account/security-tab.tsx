import type { Account } from '@countersign/protocol'
import { getRouteApi } from '@tanstack/react-router'
import { Note } from '../../components/error-note.tsx'
import { ProviderError } from '../../components/provider-error.tsx'
import { Sheet } from '../../components/sheet.tsx'
import { useAccount } from './account-tabs.ts'
import { PasskeysSection } from './passkeys-section.tsx'
import { ProvidersSection } from './providers-section.tsx'
import { RecoverySection } from './recovery-section.tsx'
import { SessionsSection } from './sessions-section.tsx'

/** Sign-in methods and sessions. */
export function SecurityTab() {
  const account = useAccount()
  return (
    <div className="flex flex-col gap-8">
      <LinkOutcome account={account} />
      <Sheet>
        <PasskeysSection account={account} />
        <RecoverySection account={account} />
        <ProvidersSection account={account} />
        <SessionsSection account={account} />
      </Sheet>
    </div>
  )
}

const route = getRouteApi('/signed-in/account/security')

/** In place of a provider: the identity provider of an organisation. */
const OF_ORGANISATION = 'organisation'

/** The result of linking a provider, from the URL. */
function LinkOutcome({ account }: { readonly account: Account }) {
  const { linked, failed, code, request } = route.useSearch()
  if (failed !== undefined) {
    return (
      <ProviderError
        what="The account was not linked."
        cancelled="Linking was cancelled. Nothing has changed."
        provider={
          failed === OF_ORGANISATION
            ? 'your organisation'
            : account.signInProviders.find(({ id }) => id === failed)?.label
        }
        code={code}
        request={request}
      />
    )
  }
  if (linked === OF_ORGANISATION) {
    return (
      <div role="status">
        <Note tone="good">
          Your identity at your organisation is linked. If you sign in there, you act for the
          organisation with this account.
        </Note>
      </div>
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
