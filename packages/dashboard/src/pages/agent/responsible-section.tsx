import type { AgentPatch, OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { useAgentCache } from '../../agents/use-agent-cache.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { toast } from '../../components/toast.tsx'
import { settingsQuery } from '../../organisations/queries.ts'
import { ResponsibleDialog } from '../../organisations/responsible-dialog.tsx'

interface ResponsibleSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

/** The member who is responsible for an agent of an organisation. */
export function ResponsibleSection({ did, agent }: ResponsibleSectionProps) {
  const { responsible, status } = agent
  const may = useMay()
  const [changing, setChanging] = useState(false)
  const { put } = useAgentCache(did)
  async function save(chosen: string | null, name: string) {
    const body: AgentPatch = { responsible: chosen }
    put(await send<OwnerAgent>('PATCH', pathOf(did), body))
    setChanging(false)
    toast(`${name} is responsible for ${agent.displayName} now.`)
  }
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
      {changing && (
        <ResponsibleDialog
          description={agent.displayName}
          current={responsible?.id ?? null}
          onSave={save}
          onClose={() => setChanging(false)}
        />
      )}
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
