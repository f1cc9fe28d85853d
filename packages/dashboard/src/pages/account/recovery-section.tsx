import type { Account } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Moment } from '../../parts/moment.tsx'
import { useRecently } from '../../parts/recent-sign-in.tsx'
import { RecoveryCodes } from '../../parts/recovery-codes.tsx'
import { Clause } from '../../parts/sheet.tsx'
import { useAccountChanged } from './use-account-changed.ts'

const FEW = 3

/** How many codes are left, and new ones in their place. */
export function RecoverySection({ account }: { readonly account: Account }) {
  const { left, createdAt } = account.recoveryCodes
  const recently = useRecently()
  const changed = useAccountChanged()
  const [asking, setAsking] = useState(false)
  const [codes, setCodes] = useState<readonly string[] | null>(null)

  async function make() {
    const made = await recently(() =>
      send<{ recoveryCodes: string[] }>('POST', '/api/account/recovery-codes'),
    )
    setCodes(made.recoveryCodes)
    await changed()
  }

  if (codes !== null) {
    return (
      <Clause
        title="Your new recovery codes"
        lead="The old ones work no longer. Put these where you keep what matters, and not on this device alone."
      >
        <RecoveryCodes
          owner={account.owner}
          codes={codes}
          action="Done"
          onDone={() => setCodes(null)}
        />
      </Clause>
    )
  }

  return (
    <Clause
      title="Recovery codes"
      lead="For the day on which no passkey is at hand. Each is good for one sign-in."
    >
      <p className={left <= FEW ? 'font-medium text-warn' : ''}>
        {createdAt === null ? (
          'You have none. Make new ones soon.'
        ) : (
          <>
            {left} of ten left, made on <Moment at={createdAt} />.
            {left <= FEW && ' Make new ones soon.'}
          </>
        )}
      </p>
      <Button size="small" className="self-start" onClick={() => setAsking(true)}>
        Make new codes
      </Button>
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title="Make new recovery codes?"
        action="Make ten new codes"
        onConfirm={make}
      >
        <p>
          {left === 0
            ? 'You are shown ten codes, once. Have something at hand to keep them in.'
            : `You are shown ten codes, once. The ${left} that are left stop working at the same moment.`}
        </p>
      </ConfirmDialog>
    </Clause>
  )
}
