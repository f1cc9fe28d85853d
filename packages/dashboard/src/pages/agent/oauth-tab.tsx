import type { AgentGrants, GrantIssuer } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { pathOf } from '../../agents/queries.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote, errorMessage } from '../../components/error-note.tsx'
import { SelectField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { agentGrantsQuery, grantIssuersQuery, refreshGrants } from '../grant-issuers/queries.ts'
import { useAgent } from './agent-tabs.ts'

/** The grant issuer of the agent, and the authorization servers for which it got grants. */
export function OAuthTab() {
  const { did } = useAgent()
  const grants = useQuery(agentGrantsQuery(did))
  const issuers = useQuery(grantIssuersQuery)
  const error = grants.error ?? issuers.error
  const retry = () => void Promise.all([grants.refetch(), issuers.refetch()])
  return (
    <div className="flex max-w-3xl flex-col gap-8">
      <ErrorNote error={error} onRetry={retry} />
      {(grants.isPending || issuers.isPending) && (
        <>
          <Loading what="the grant issuer" />
          <Skeleton className="h-72 rounded-2xl" />
        </>
      )}
      {grants.data && issuers.data && (
        <>
          <IssuerSection current={grants.data.issuer} issuers={issuers.data.issuers} />
          <ServersSection servers={grants.data.authorizationServers} />
        </>
      )}
    </div>
  )
}

interface IssuerSectionProps {
  readonly current: GrantIssuer | null
  readonly issuers: readonly GrantIssuer[]
}

/** The value of the option for no issuer. */
const NONE = ''

function IssuerSection({ current, issuers }: IssuerSectionProps) {
  const { did, agent } = useAgent()
  const may = useMay()
  const queries = useQueryClient()
  const currentId = current?.id ?? NONE
  const [choice, setChoice] = useState<string | null>(null)
  // An issuer that was deleted elsewhere is no choice any more.
  const isOffered = choice === NONE || issuers.some(({ id }) => id === choice)
  const chosen = choice !== null && isOffered ? choice : currentId
  const isRevoked = agent.status === 'revoked'

  const save = useAction(async () => {
    if (chosen === currentId) return
    const body = { issuer: chosen === NONE ? null : chosen }
    const grants = await send<AgentGrants>('PUT', `${pathOf(did)}/grant-issuer`, body).finally(() =>
      refreshGrants(queries),
    )
    setChoice(null)
    toast(
      grants.issuer === null
        ? 'The agent gets no more grants.'
        : `The grant issuer of the agent is now ${grants.issuer.name}.`,
    )
  })

  return (
    <Section
      title="Grant issuer"
      lead={
        <>
          It signs the grants that this agent exchanges for access tokens of OAuth authorization
          servers.{' '}
          <a href="/docs/oauth" className="text-accent underline">
            How it works
          </a>
        </>
      }
    >
      {isRevoked && <p>This agent is revoked, so it gets no grants.</p>}
      {issuers.length === 0 && !isRevoked && <p>No grant issuers yet.</p>}
      {issuers.length > 0 && !isRevoked && !may('manager') && (
        <p>{current === null ? 'None: the agent gets no grants.' : current.name}</p>
      )}
      {issuers.length > 0 && !isRevoked && may('manager') && (
        <form onSubmit={submitHandler(save.run)} className="flex flex-col items-start gap-4">
          <div className="w-full max-w-md">
            <SelectField
              label="Grant issuer"
              error={save.error === null ? null : errorMessage(save.error)}
              value={chosen}
              onChange={(event) => setChoice(event.target.value)}
            >
              <option value={NONE}>None: the agent gets no grants</option>
              {issuers.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name} (…{id.slice(-6)})
                </option>
              ))}
            </SelectField>
          </div>
          <Button
            type="submit"
            variant="primary"
            pending={save.pending}
            disabled={chosen === currentId}
          >
            Save
          </Button>
        </form>
      )}
      {current !== null && !isRevoked && <CopyField label="Issuer URL" value={current.issuer} />}
      <Link to="/grant-issuers" className={`self-start ${buttonClass('secondary', 'small')}`}>
        {may('manager') ? 'Manage grant issuers' : 'Show all grant issuers'}
      </Link>
    </Section>
  )
}

interface ServersSectionProps {
  readonly servers: AgentGrants['authorizationServers']
}

function ServersSection({ servers }: ServersSectionProps) {
  return (
    <Section
      title="Authorization servers"
      lead="The servers for which this agent got grants. The last used is first."
    >
      {servers.length === 0 && <p>No grants yet</p>}
      {servers.length > 0 && (
        <ul className="flex flex-col divide-y divide-line">
          {servers.map(({ audience, grants, firstAt, lastAt }) => (
            <li key={audience} className="flex flex-col gap-1 py-4 first:pt-0 last:pb-0">
              <p className="wrap-anywhere font-mono text-sm sm:leading-6">{audience}</p>
              <p className="text-soft text-sm">
                {grants === 1 ? '1 grant' : `${grants} grants`} · first on{' '}
                <DateTime at={firstAt} as="minute" /> · last on <DateTime at={lastAt} as="minute" />
              </p>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
