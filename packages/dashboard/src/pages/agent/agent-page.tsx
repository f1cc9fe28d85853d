import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { agentQuery } from '../../agents/queries.ts'
import { ApiError } from '../../api/client.ts'
import { buttonClass } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Page } from '../../parts/page.tsx'
import { Loading, Skeleton } from '../../parts/skeleton.tsx'
import { AgentEditor } from './agent-editor.tsx'

const route = getRouteApi('/signed-in/agents/$did')

const BACK = (
  <Link to="/agents" className="w-fit text-accent underline">
    All agents
  </Link>
)

/** One agent: what others see of it, how it stands, what happened to it. */
export function AgentPage() {
  const { did } = route.useParams()
  const { data: agent, error, isPending, refetch } = useQuery(agentQuery(did))

  if (agent) return <AgentEditor key={did} did={did} agent={agent} above={BACK} />
  if (error instanceof ApiError && (error.status === 404 || error.status === 400)) {
    return (
      <Page
        title="No such agent"
        above={BACK}
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
    <Page title="Agent" above={BACK}>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the agent" />
          <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_22rem]">
            <Skeleton className="h-72 rounded-xl lg:order-last" />
            <Skeleton className="h-160 rounded-2xl" />
          </div>
        </>
      )}
    </Page>
  )
}
