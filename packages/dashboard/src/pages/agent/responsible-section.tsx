import type { AgentPatch, OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SelectField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { membersQuery, settingsQuery } from '../../organisations/queries.ts'

interface ResponsibleSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

/** The member who is responsible for an agent of an organisation. */
export function ResponsibleSection({ did, agent }: ResponsibleSectionProps) {
  const { responsible, status } = agent
  const may = useMay()
  const [changing, setChanging] = useState(false)
  return (
    <Section
      title="Responsible person"
      lead="The member who looks after this agent. Not public."
      actions={
        status !== 'revoked' &&
        may('manager') && (
          <Button size="small" onClick={() => setChanging(true)}>
            {responsible === null ? 'Choose a member' : 'Change'}
          </Button>
        )
      }
    >
      {responsible === null ? (
        <Nobody status={status} />
      ) : (
        <p className="wrap-anywhere">{responsible.displayName}</p>
      )}
      {changing && <ResponsibleDialog did={did} agent={agent} onClose={() => setChanging(false)} />}
    </Section>
  )
}

function Nobody({ status }: Pick<OwnerAgent, 'status'>) {
  const days = useQuery(settingsQuery).data?.suspendWithoutResponsibleAfterDays ?? null
  if (status === 'revoked') return <p>Nobody</p>
  return (
    <p className="text-pretty">
      <span className="font-medium text-warn">Nobody.</span>{' '}
      {status === 'active' &&
        days !== null &&
        `An agent without a responsible person is suspended after ${days === 1 ? '1 day' : `${days} days`}.`}
      {status === 'suspended' && 'Choose a member before you reactivate the agent.'}
    </p>
  )
}

interface ResponsibleDialogProps extends ResponsibleSectionProps {
  readonly onClose: () => void
}

function ResponsibleDialog({ did, agent, onClose }: ResponsibleDialogProps) {
  const { data, error, refetch } = useQuery(membersQuery)
  const { put } = useAgentCache(did)
  const before = agent.responsible?.id ?? ''
  const [chosen, setChosen] = useState(before)
  const save = useAction(async () => {
    const body: AgentPatch = { responsible: chosen === '' ? null : chosen }
    put(await send<OwnerAgent>('PATCH', pathOf(did), body))
    onClose()
    const name = data?.members.find(({ id }) => id === chosen)?.displayName ?? 'Nobody'
    toast(`${name} is responsible for ${agent.displayName} now.`)
  })
  return (
    <Dialog open onClose={onClose} title="Responsible person" description={agent.displayName}>
      <form onSubmit={submitHandler(save.run)} className="flex flex-col gap-4">
        <SelectField
          label="Member"
          value={data === undefined ? '' : chosen}
          onChange={({ target }) => setChosen(target.value)}
        >
          <option value="">Nobody</option>
          {data?.members.map(({ id, displayName, username }) => (
            <option key={id} value={id}>
              {displayName}
              {username !== undefined && ` (@${username})`}
            </option>
          ))}
        </SelectField>
        <ErrorNote error={error} onRetry={() => void refetch()} />
        <ErrorNote error={save.error} />
        <DialogActions>
          <Button
            type="submit"
            variant="primary"
            pending={save.pending}
            disabled={data === undefined || chosen === before}
          >
            Save
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}
