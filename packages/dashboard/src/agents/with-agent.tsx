import type { OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { buttonClass } from '../components/button.tsx'
import { ErrorNote } from '../components/error-note.tsx'
import { Page } from '../components/page.tsx'
import { Loading } from '../components/skeleton.tsx'
import { agentQuery } from './queries.ts'
import { useLiveAgent } from './use-live-agent.ts'

interface WithAgentProps {
  readonly did: string
  /** The heading while the agent is loading. */
  readonly title: string
  /** The link back. */
  readonly above: ReactNode
  /** Shown while the agent is loading. */
  readonly placeholder: ReactNode
  readonly children: (agent: OwnerAgent) => ReactNode
}

/** Loads an agent, keeps it up to date, and handles loading and errors. */
export function WithAgent({ did, title, above, placeholder, children }: WithAgentProps) {
  const { data: agent, error, isPending, refetch } = useQuery(agentQuery(did))
  useLiveAgent(did)

  if (agent) return children(agent)
  if (error instanceof ApiError && (error.status === 404 || error.status === 400)) {
    return (
      <Page
        title="Agent not found"
        above={above}
        lead="You have no agent with this DID. The address may be mistyped, or another owner has the agent."
        width="narrow"
      >
        <Link to="/agents" className={`self-start ${buttonClass('primary')}`}>
          Show your agents
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
