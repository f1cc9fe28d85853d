import type { RecoveryReason } from '@countersign/protocol'
import { useService } from '../../../agents/use-service.ts'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { toast } from '../../../components/toast.tsx'
import { delayText } from './duration.ts'
import type { RecoveryActions } from './use-recovery.ts'

interface DialogProps {
  readonly recovery: RecoveryActions
  readonly open: boolean
  readonly onClose: () => void
}

interface Texts {
  readonly title: string
  /** The exact effects. @param takesEffect when the new key does */
  readonly effects: (takesEffect: string) => readonly string[]
  readonly action: string
  readonly isDangerous: boolean
}

const TOKEN = 'You get a recovery token. The agent redeems it with a new key within 10 minutes.'

/** Of an agent that is suspended for its key. */
type Variant = 'burned' | 'lost' | 'renounced'

const TEXTS: Readonly<Record<RecoveryReason | Variant, Texts>> = {
  renounced: {
    title: 'Recover the agent?',
    effects: (takesEffect) => [
      TOKEN,
      `The new key takes effect ${takesEffect}, and makes the agent active again.`,
      'Once the token is redeemed, the revocation waits for the new key.',
      'The key that renounced the agent cannot stop this. Other owners can claim it afterwards.',
    ],
    action: 'Start the recovery',
    isDangerous: false,
  },
  burned: {
    title: 'Recover the agent?',
    effects: (takesEffect) => [
      TOKEN,
      `The new key takes effect ${takesEffect}, and ends the suspension for the burned key.`,
    ],
    action: 'Start the recovery',
    isDangerous: false,
  },
  lost: {
    title: 'Recover the agent?',
    effects: (takesEffect) => [
      'You get a recovery token. The agent redeems it within 10 minutes, with the key that it had or with a new one.',
      `The key takes effect ${takesEffect}, and ends the suspension.`,
    ],
    action: 'Start the recovery',
    isDangerous: false,
  },
  key_lost: {
    title: 'Recover the lost key?',
    effects: (takesEffect) => [
      TOKEN,
      `The new key takes effect ${takesEffect}. Until then, the current key works.`,
      'The holder of the current key can stop the recovery, by a veto or a rotation.',
      'You can cancel the recovery until the new key takes effect.',
    ],
    action: 'Start the recovery',
    isDangerous: false,
  },
  key_compromised: {
    title: 'Report the key as stolen?',
    effects: (takesEffect) => [
      'The current key is burned at once: it verifies nowhere, and nobody can claim it again.',
      'The agent is suspended at once, and so are your other agents with the same key.',
      TOKEN,
      `The new key takes effect ${takesEffect}, and ends this suspension.`,
      'If you cancel the recovery, the key stays burned and the agent suspended.',
    ],
    action: 'Report as stolen',
    isDangerous: true,
  },
}

const NOTICE =
  'The agent keeps its DID and name. If its key proved a channel, verify that channel again. The public certificate shows the pending recovery. You are notified of each step.'

/** Explains and confirms the start of a recovery. */
export function StartRecoveryDialog({
  recovery,
  reason,
  variant,
  ...dialog
}: DialogProps & {
  readonly reason: RecoveryReason
  /** Of the current key. */
  readonly variant?: Variant | undefined
}) {
  const { recoveryDelaySeconds } = useService()
  const takesEffect =
    recoveryDelaySeconds === 0 ? 'at once' : `${delayText(recoveryDelaySeconds)} after that`
  const { title, effects, action, isDangerous } = TEXTS[variant ?? reason]
  return (
    <ConfirmDialog
      {...dialog}
      title={title}
      action={action}
      danger={isDangerous}
      onConfirm={async () => {
        await recovery.start(reason)
        toast('Recovery started.')
      }}
    >
      <ul className="list-disc space-y-1.5 pl-5 text-pretty">
        {effects(takesEffect).map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
      <p className="text-pretty text-soft text-sm">{NOTICE}</p>
    </ConfirmDialog>
  )
}

/** Explains and confirms the end of a recovery. */
export function CancelRecoveryDialog({
  recovery,
  reason,
  isRenounced,
  ...dialog
}: DialogProps & { readonly reason: RecoveryReason; readonly isRenounced: boolean }) {
  return (
    <ConfirmDialog
      {...dialog}
      title="Cancel the recovery?"
      action="Cancel the recovery"
      cancel="Keep the recovery"
      onConfirm={async () => {
        await recovery.cancel()
        toast('Recovery cancelled.')
      }}
    >
      <p className="text-pretty">
        {isRenounced
          ? 'The recovery token and the new key become invalid. The agent has renounced its certificate: it is revoked when its time has passed, or at once.'
          : reason === 'key_lost'
            ? 'The recovery token and the new key become invalid. The current key stays.'
            : 'The recovery token and the new key become invalid. The current key stays burned, and the agent suspended, until you recover it.'}
      </p>
    </ConfirmDialog>
  )
}
