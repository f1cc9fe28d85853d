import type { OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { buttonClass } from '../parts/button.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Page } from '../parts/page.tsx'
import { Loading } from '../parts/skeleton.tsx'
import { agentQuery } from './queries.ts'
import { useLiveAgent } from './use-live-agent.ts'

interface WithAgentProps {
  readonly did: string
  /** The page's heading while it is not known what the agent is called. */
  readonly title: string
  /** The way back. */
  readonly above: ReactNode
  /** Stands for the page until it is there. */
  readonly placeholder: ReactNode
  readonly children: (agent: OwnerAgent) => ReactNode
}

/** A page about an agent: kept true while it is looked at, once the agent is there. */
export function WithAgent({ did, title, above, placeholder, children }: WithAgentProps) {
  const { data: agent, error, isPending, refetch } = useQuery(agentQuery(did))
  useLiveAgent(did)

  if (agent) return children(agent)
  if (error instanceof ApiError && (error.status === 404 || error.status === 400)) {
    return (
      <Page
        title="No such agent"
        above={above}
        lead="You have no agent with this DID. The address may be mistyped, or the agent is another owner’s."
        width="narrow"
      >
        <Link to="/agents" className={`self-start ${buttonClass('primary')}`}>
          To your agents
        </Link>
      </Page>
    )
  }
  return (
    <Page title={title} above={above}>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the agent" />
          {placeholder}
        </>
      )}
    </Page>
  )
}
