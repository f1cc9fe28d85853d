import type { Account } from '@countersign/protocol'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Moment } from '../../parts/moment.tsx'
import { useRecently } from '../../parts/recent-sign-in.tsx'
import { Clause } from '../../parts/sheet.tsx'
import { toast } from '../../parts/toast.tsx'
import { useAction } from '../../parts/use-action.ts'
import { useAccountChanged } from './use-account-changed.ts'
import { waysIn } from './ways-in.ts'

type SignInProvider = Account['signInProviders'][number]

/** Accounts elsewhere that open this one. Not there where the host trusts none. */
export function ProvidersSection({ account }: { readonly account: Account }) {
  if (account.signInProviders.length === 0) return null
  const onlyWay = waysIn(account) <= 1
  return (
    <Clause
      title="Sign in with another account"
      lead="Whoever gets into such an account gets in here too. Signing in with it proves nothing about you to others: that is what the page Identity is for."
    >
      <ul className="flex flex-col divide-y divide-line">
        {account.signInProviders.map((each) => (
          <ProviderItem key={each.id} provider={each} onlyWay={onlyWay} />
        ))}
      </ul>
    </Clause>
  )
}

interface ProviderItemProps {
  readonly provider: SignInProvider
  readonly onlyWay: boolean
}

function ProviderItem({ provider: { id, label, linkedAt }, onlyWay }: ProviderItemProps) {
  const heading = useId()
  const recently = useRecently()
  const changed = useAccountChanged()
  const [unlinking, setUnlinking] = useState(false)
  const link = useAction(async () => {
    const { redirect } = await recently(() =>
      send<{ redirect: string }>('POST', '/api/account/sign-in-providers', { provider: id }),
    )
    location.assign(redirect)
  })

  async function unlink() {
    const path = `/api/account/sign-in-providers/${encodeURIComponent(id)}`
    await recently(() => send('DELETE', path))
    await changed()
    toast(`${label} is unlinked.`)
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
                Linked on <Moment at={linkedAt} />.
              </>
            )}
            {linkedAt !== null &&
              onlyWay &&
              ' It is your only way in: add a passkey before you unlink it.'}
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
            disabled={onlyWay}
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
        <p>You can no longer sign in with it. Verifications of your identity stay as they are.</p>
      </ConfirmDialog>
    </li>
  )
}
