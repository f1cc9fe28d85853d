import { getRouteApi, Link } from '@tanstack/react-router'
import { WithAgent } from '../../agents/with-agent.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { AgentEditor } from './agent-editor.tsx'

const route = getRouteApi('/signed-in/agents/$did')

const BACK = (
  <Link to="/agents" className="w-fit text-accent underline">
    All agents
  </Link>
)

export function AgentPage() {
  const { did } = route.useParams()
  return (
    <WithAgent did={did} title="Agent" above={BACK} placeholder={<Placeholder />}>
      {(agent) => <AgentEditor key={did} did={did} agent={agent} above={BACK} />}
    </WithAgent>
  )
}

function Placeholder() {
  return (
    <div className="grid gap-8 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <Skeleton className="h-72 rounded-xl lg:order-last" />
      <Skeleton className="h-160 rounded-2xl" />
    </div>
  )
}
