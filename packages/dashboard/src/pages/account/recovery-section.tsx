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
        lead="The old ones work no longer. Put these where you keep what matters, and not on this device alone."
      >
        <RecoveryCodes
          owner={account.owner}
          codes={codes}
          action="Done"
          onDone={() => setCodes(null)}
        />
      </SheetSection>
    )
  }

  return (
    <SheetSection
      title="Recovery codes"
      lead="For the day on which no passkey is at hand. Each is good for one sign-in."
    >
      <p className={left <= LOW_COUNT ? 'font-medium text-warn' : ''}>
        {createdAt === null ? (
          'You have none. Make new ones soon.'
        ) : (
          <>
            {left} of ten left, made on <DateTime at={createdAt} />.
            {left <= LOW_COUNT && ' Make new ones soon.'}
          </>
        )}
      </p>
      <Button size="small" className="self-start" onClick={() => setConfirming(true)}>
        Make new codes
      </Button>
      <ConfirmDialog
        open={confirming}
        onClose={() => setConfirming(false)}
        title="Make new recovery codes?"
        action="Make ten new codes"
        onConfirm={createCodes}
      >
        <p>
          {left === 0
            ? 'You are shown ten codes, once. Have something at hand to keep them in.'
            : `You are shown ten codes, once. The ${left} that are left stop working at the same moment.`}
        </p>
      </ConfirmDialog>
    </SheetSection>
  )
}
