import type { Account } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { RecoveryCodes } from '../../components/recovery-codes.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { useRefreshAccount } from './use-refresh-account.ts'

const LOW_COUNT = 3

/** Shows how many codes are left and creates new ones. */
export function RecoverySection({ account }: { readonly account: Account }) {
  const { left, createdAt } = account.recoveryCodes
  const withRecentSignIn = useRecentSignIn()
  const refreshAccount = useRefreshAccount()
  const [confirming, setConfirming] = useState(false)
  const [codes, setCodes] = useState<readonly string[] | null>(null)

  async function createCodes() {
    const created = await withRecentSignIn(() =>
      send<{ recoveryCodes: string[] }>('POST', '/api/account/recovery-codes'),
    )
    setCodes(created.recoveryCodes)
    await refreshAccount()
  }

  if (codes !== null) {
    return (
      <SheetSection
        title="Your new recovery codes"
        lead="The previous codes no longer work. Store these outside this device, for example in a password manager."
      >
        <RecoveryCodes
          owner={account.owner}
          codes={codes}
          action="I saved the codes"
          onDone={() => setCodes(null)}
        />
      </SheetSection>
    )
  }

  return (
    <SheetSection
      title="Recovery codes"
      lead="Sign in with a code if you have no passkey. Each code works once."
    >
      <p className={left <= LOW_COUNT ? 'font-medium text-warn' : ''}>
        {createdAt === null ? (
          'You have no recovery codes. Create new ones.'
        ) : (
          <>
            {left} of 10 left, created on <DateTime at={createdAt} />.
            {left <= LOW_COUNT && ' Create new ones.'}
          </>
        )}
      </p>
      <Button size="small" className="self-start" onClick={() => setConfirming(true)}>
        Create new codes …
      </Button>
      <ConfirmDialog
        open={confirming}
        onClose={() => setConfirming(false)}
        title="Create new recovery codes?"
        action="Create 10 codes"
        onConfirm={createCodes}
      >
        <p>
          {left === 0
            ? 'The 10 new codes are shown only once. Be ready to save them.'
            : `The 10 new codes are shown only once. Your ${left} remaining codes stop working at once.`}
        </p>
      </ConfirmDialog>
    </SheetSection>
  )
}
