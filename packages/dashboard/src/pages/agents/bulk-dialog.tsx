import type { OwnerAgent } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { didOf, nameOf } from '../../agents/did.ts'
import { AGENTS_KEY } from '../../agents/queries.ts'
import { ReasonField, useReason } from '../../agents/reason-field.tsx'
import { useService } from '../../agents/use-service.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { toast } from '../../components/toast.tsx'
import { type BulkChange, changeAll, type Outcome } from './bulk-change.ts'

const TEXTS = {
  suspend: {
    verb: 'Suspend',
    done: 'suspended',
    unchanged: 'not active',
    effect:
      'Lookups and challenges answer “verified: false” at once. You can reactivate each agent at any time.',
  },
  revoke: {
    verb: 'Revoke',
    done: 'revoked',
    unchanged: 'already revoked',
    effect: 'Their certificates end at once. Revocation is permanent and cannot be undone.',
  },
} as const

interface BulkDialogProps {
  readonly change: BulkChange
  readonly selected: readonly OwnerAgent[]
  readonly open: boolean
  readonly onClose: () => void
  /** Called with the DIDs of the agents that changed. */
  readonly onDone: (dids: readonly string[]) => void
}

/** Confirms a change of several agents, makes it, and says what became of each one that did not change. */
export function BulkDialog({ change, selected, open, onClose, onDone }: BulkDialogProps) {
  const service = useService()
  const queries = useQueryClient()
  const reason = useReason()
  const [typed, setTyped] = useState('')
  const [running, setRunning] = useState(false)
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([])
  const { verb, done, unchanged, effect } = TEXTS[change]
  const targets = selected
    .filter(({ status }) => (change === 'suspend' ? status === 'active' : status !== 'revoked'))
    .map((agent) => ({ did: didOf(service, agent), name: nameOf(agent) }))
  const others = selected.length - targets.length
  const confirmed = change === 'suspend' || typed.trim() === String(targets.length)

  const { reset } = reason
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it opens
  useEffect(() => {
    setTyped('')
    setRunning(false)
    reset()
  }, [open])

  async function run() {
    setRunning(true)
    const results = await changeAll(targets, change, reason.reason, service.shortName)
    await queries.invalidateQueries({ queryKey: AGENTS_KEY })
    const changed = results.filter(({ result }) => result === 'done')
    onDone(changed.map(({ did }) => did))
    if (changed.length === results.length) toast(`${count(changed.length)} ${done}.`)
    else setOutcomes(results)
  }

  return (
    <>
      <ConfirmDialog
        open={open}
        onClose={() => !running && onClose()}
        onDone={onClose}
        title={`${verb} ${count(targets.length)}?`}
        action={`${verb} ${count(targets.length)}`}
        danger={change === 'revoke'}
        ready={targets.length > 0 && reason.valid && confirmed}
        onConfirm={run}
      >
        <p>{effect}</p>
        {others > 0 && (
          <p>
            {count(others)} in your selection {others === 1 ? 'is' : 'are'} {unchanged} and will not
            change.
          </p>
        )}
        <ul aria-label="Agents" className="max-h-40 list-disc overflow-y-auto pl-5">
          {targets.map(({ did, name }) => (
            <li key={did} className="wrap-break-word">
              {name}
            </li>
          ))}
        </ul>
        <ReasonField state={reason} />
        {change === 'revoke' && (
          <TextField
            label="Number of agents"
            hint={`Enter ${targets.length} to confirm.`}
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
            inputMode="numeric"
            autoComplete="off"
          />
        )}
      </ConfirmDialog>
      <ResultDialog outcomes={outcomes} done={done} onClose={() => setOutcomes([])} />
    </>
  )
}

interface ResultDialogProps {
  readonly outcomes: readonly Outcome[]
  readonly done: string
  readonly onClose: () => void
}

/** Lists every agent that did not change, with the reason. */
function ResultDialog({ outcomes, done, onClose }: ResultDialogProps) {
  const of = (result: Outcome['result']) => outcomes.filter((each) => each.result === result)
  const failed = of('failed')
  const skipped = of('skipped')
  const changed = of('done').length
  return (
    <Dialog
      open={outcomes.length > 0}
      onClose={onClose}
      title="Some agents did not change"
      description={`${changed} of ${outcomes.length} agents ${changed === 1 ? 'is' : 'are'} ${done}. The others are still selected, so that you can try again.`}
    >
      {failed.length > 0 && (
        <Group title={`${count(failed.length)} failed`}>
          {failed.map(({ did, name, message }) => (
            <li key={did} className="wrap-break-word">
              <strong className="font-semibold">{name}</strong>: {message}
            </li>
          ))}
        </Group>
      )}
      {skipped.length > 0 && (
        <Group title={`${count(skipped.length)} not tried after the failure`}>
          {skipped.map(({ did, name }) => (
            <li key={did} className="wrap-break-word">
              {name}
            </li>
          ))}
        </Group>
      )}
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          Close
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="flex flex-col gap-1.5">
      <h3 className="font-medium">{title}</h3>
      <ul className="max-h-48 list-disc overflow-y-auto pl-5">{children}</ul>
    </div>
  )
}

function count(agents: number): string {
  return agents === 1 ? '1 agent' : `${agents} agents`
}
