import type { RecoveryReason } from '@countersign/protocol'
import { useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { Section } from '../../../components/page.tsx'
import type { Key } from './contestable.ts'
import { StartRecoveryDialog } from './recovery-dialogs.tsx'
import type { RecoveryActions } from './use-recovery.ts'

interface StartRecoveryProps {
  readonly recovery: RecoveryActions
  /** Of the current key. */
  readonly state: Key['state']
}

const VARIANTS: Readonly<Partial<Record<Key['state'], 'burned' | 'lost'>>> = {
  compromised: 'burned',
  lost: 'lost',
}

/** Starts a recovery because the key was lost, stolen or burned before. */
export function StartRecovery({ recovery, state }: StartRecoveryProps) {
  const isUnusable = VARIANTS[state] !== undefined
  const [reason, setReason] = useState<RecoveryReason>('key_lost')
  const [open, setOpen] = useState(false)
  const openDialog = (next: RecoveryReason) => {
    setReason(next)
    setOpen(true)
  }
  return (
    <>
      {isUnusable ? (
        <Section
          title="Give the agent a usable key"
          lead="The agent stays suspended until it is recovered."
        >
          <Button
            variant="primary"
            className="self-start"
            onClick={() => openDialog(state === 'lost' ? 'key_lost' : 'key_compromised')}
          >
            Recover the agent …
          </Button>
        </Section>
      ) : (
        <>
          <Section
            title="If the key is stolen"
            lead="Use this if somebody else has the key, or may have it. The key stops working at once, and the agent gets a new one."
          >
            <Button
              variant="warning"
              className="self-start"
              onClick={() => openDialog('key_compromised')}
            >
              Report the key as stolen …
            </Button>
          </Section>
          <Section
            title="If the key is lost"
            lead="Use this if the agent has no access to its key, and nobody else has it. The agent gets a new one after a delay."
          >
            <Button className="self-start" onClick={() => openDialog('key_lost')}>
              Recover the lost key …
            </Button>
          </Section>
        </>
      )}
      <StartRecoveryDialog
        recovery={recovery}
        reason={reason}
        variant={VARIANTS[state]}
        open={open}
        onClose={() => setOpen(false)}
      />
    </>
  )
}
