import type { AgentKeys, ContestReason, ContestRequest } from '@countersign/protocol'
import { useEffect, useState } from 'react'
import { pathOf } from '../../../agents/queries.ts'
import { send } from '../../../api/client.ts'
import { Choice } from '../../../components/choice.tsx'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { SelectField } from '../../../components/field.tsx'
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx'
import { toast } from '../../../components/toast.tsx'
import type { ContestProps } from './contestable.ts'
import { useRefreshAgent } from './use-recovery.ts'

interface ContestDialogProps extends ContestProps {
  readonly open: boolean
  readonly onClose: () => void
}

/** Asks for the last good key and the reason, explains the effects and contests the rotations after that key. */
export function ContestDialog({
  did,
  contestable,
  isRecovering,
  open,
  onClose,
}: ContestDialogProps) {
  const [sequence, setSequence] = useState(contestable[0].key.sequence)
  const [reason, setReason] = useState<ContestReason>('key_compromised')
  const withRecentSignIn = useRecentSignIn()
  const refresh = useRefreshAgent()

  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it opens
  useEffect(() => {
    setSequence(contestable[0].key.sequence)
    setReason('key_compromised')
  }, [open])

  async function contest() {
    const body: ContestRequest = { sequence, reason }
    await withRecentSignIn(() => send<AgentKeys>('POST', `${pathOf(did)}/keys/contest`, body))
    await refresh()
    toast('Rotation contested.')
  }

  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title="Contest the rotation?"
      action={reason === 'mistake' ? `Restore key ${sequence}` : 'Report as stolen'}
      danger
      onConfirm={contest}
    >
      {contestable.length > 1 && (
        <SelectField
          label="Last key that you trust"
          value={sequence}
          onChange={({ target }) => setSequence(Number(target.value))}
        >
          {contestable.map(({ key }) => (
            <option key={key.sequence} value={key.sequence}>
              Key {key.sequence}
            </option>
          ))}
        </SelectField>
      )}
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">What happened?</legend>
        <Choice
          isChosen={reason === 'key_compromised'}
          onChoose={() => setReason('key_compromised')}
          label={`Somebody else had key ${sequence}`}
        >
          Key {sequence} and every later key are burned at once, because key {sequence} may have
          signed the rotation. The agent is suspended until you recover it with a new key.
        </Choice>
        <Choice
          isChosen={reason === 'mistake'}
          onChoose={() => setReason('mistake')}
          label={`It was a mistake: nobody else has key ${sequence}`}
        >
          Key {sequence} becomes the current key again, under a new number. Every later key is
          burned. The status of the agent does not change.
          {isRecovering && ' The pending recovery ends.'}
        </Choice>
      </fieldset>
      <p className="text-pretty text-soft text-sm">
        A burned key verifies nowhere, and nobody can claim it again. You cannot undo this.
      </p>
    </ConfirmDialog>
  )
}
