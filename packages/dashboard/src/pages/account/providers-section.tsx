import type { Account } from '@countersign/protocol'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { countSignInMethods } from './sign-in-methods.ts'
import { useRefreshAccount } from './use-refresh-account.ts'

type SignInProvider = Account['signInProviders'][number]

/** Links accounts of other providers for signing in. Hidden if the operator configured none. */
export function ProvidersSection({ account }: { readonly account: Account }) {
  if (account.signInProviders.length === 0) return null
  const onlyMethod = countSignInMethods(account) <= 1
  return (
    <SheetSection
      title="Linked accounts"
      lead="Sign in with an account at another provider. This does not verify your identity. To verify it, open Identity."
    >
      <ul className="flex flex-col divide-y divide-line">
        {account.signInProviders.map((each) => (
          <ProviderItem key={each.id} provider={each} onlyMethod={onlyMethod} />
        ))}
      </ul>
    </SheetSection>
  )
}

interface ProviderItemProps {
  readonly provider: SignInProvider
  readonly onlyMethod: boolean
}

function ProviderItem({ provider: { id, label, linkedAt }, onlyMethod }: ProviderItemProps) {
  const heading = useId()
  const withRecentSignIn = useRecentSignIn()
  const refreshAccount = useRefreshAccount()
  const [unlinking, setUnlinking] = useState(false)
  const link = useAction(async () => {
    const { redirect } = await withRecentSignIn(() =>
      send<{ redirect: string }>('POST', '/api/account/sign-in-providers', { provider: id }),
    )
    location.assign(redirect)
  })

  async function unlink() {
    const path = `/api/account/sign-in-providers/${encodeURIComponent(id)}`
    await withRecentSignIn(() => send('DELETE', path))
    await refreshAccount()
    toast(`${label} unlinked.`)
  }

  return (
    <li aria-labelledby={heading} className="flex flex-col gap-3 py-4 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 @2xl:flex-nowrap">
        <div className="min-w-0">
          <h3 id={heading} className="font-medium">
            {label}
          </h3>
          <p className="text-soft text-sm">
            {linkedAt === null ? (
              'Not linked.'
            ) : (
              <>
                Linked on <DateTime at={linkedAt} />.
              </>
            )}
            {linkedAt !== null &&
              onlyMethod &&
              ' This is your only sign-in method. Add a passkey before you unlink it.'}
          </p>
        </div>
        {linkedAt === null ? (
          <Button
            size="small"
            aria-label={`Link ${label}`}
            pending={link.pending}
            onClick={link.run}
          >
            Link
          </Button>
        ) : (
          <Button
            size="small"
            aria-label={`Unlink ${label}`}
            disabled={onlyMethod}
            onClick={() => setUnlinking(true)}
          >
            Unlink
          </Button>
        )}
      </div>
      <ErrorNote error={link.error} />
      <ConfirmDialog
        open={unlinking}
        onClose={() => setUnlinking(false)}
        title={`Unlink ${label}?`}
        action={`Unlink ${label}`}
        danger
        onConfirm={unlink}
      >
        <p>You can no longer sign in with it. Your identity verifications do not change.</p>
      </ConfirmDialog>
    </li>
  )
}
