import type { AgentKeys } from '@countersign/protocol'
import { pathOf } from '../../../agents/queries.ts'
import { send } from '../../../api/client.ts'
import { ConfirmDialog } from '../../../components/dialog.tsx'
import { toast } from '../../../components/toast.tsx'
import { useAgent } from '../agent-tabs.ts'
import type { Key } from './contestable.ts'
import { useRefreshAgent } from './use-recovery.ts'

interface ReportKeyDialogProps {
  readonly reported: Key
  /** Whether it is the key with the highest number. */
  readonly isCurrent: boolean
  readonly open: boolean
  readonly onClose: () => void
}

/** Explains and confirms the report of a key, current or former. */
export function ReportKeyDialog({ reported, isCurrent, open, onClose }: ReportKeyDialogProps) {
  const { did, agent } = useAgent()
  const refresh = useRefreshAgent()
  const { sequence } = reported
  const suspends = isCurrent && agent.status !== 'revoked'
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={`Report key ${sequence} as stolen?`}
      action="Report as stolen"
      danger
      onConfirm={async () => {
        await send<AgentKeys>('POST', `${pathOf(did)}/keys/compromised`, { sequence })
        await refresh()
        toast('Key reported.')
      }}
    >
      <ul className="list-disc space-y-1.5 pl-5 text-pretty">
        <li>The key is burned at once: it verifies nowhere, and nobody can claim it again.</li>
        <li>
          {suspends
            ? agent.enrolment === null
              ? 'This agent is suspended until you recover it with a new key.'
              : 'This agent is suspended. Revoke it afterwards: its workload enrols again with a new key.'
            : 'The status of this agent does not change.'}
        </li>
        <li>Every other agent whose current key it is is suspended, of all owners.</li>
      </ul>
      <p className="text-pretty text-soft text-sm">You cannot undo this.</p>
    </ConfirmDialog>
  )
}
