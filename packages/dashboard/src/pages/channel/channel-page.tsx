import type { OwnerAgent } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { WithAgent } from '../../agents/with-agent.tsx'
import { useMay } from '../../api/use-may.ts'
import { BackToAgent } from '../../channels/back-to-agent.tsx'
import { channelsQuery } from '../../channels/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { ChannelDetails } from './channel-details.tsx'

const route = getRouteApi('/signed-in/agents/$did/channels/$channel')

export function ChannelPage() {
  const { did } = route.useParams()
  return (
    <WithAgent
      did={did}
      title="Channel"
      above={<BackToAgent did={did} name={undefined} />}
      placeholder={<Placeholder />}
    >
      {(agent) => <LoadedChannel did={did} agent={agent} />}
    </WithAgent>
  )
}

interface LoadedChannelProps {
  readonly did: string
  readonly agent: OwnerAgent
}

function LoadedChannel({ did, agent }: LoadedChannelProps) {
  const { channel: id } = route.useParams()
  const { data, error, isPending, refetch } = useQuery(channelsQuery(did))
  const above = <BackToAgent did={did} name={agent.displayName} />
  const may = useMay()
  const channel = data?.channels.find((each) => each.id === id)

  if (channel) {
    return <ChannelDetails key={id} did={did} agent={agent} channel={channel} above={above} />
  }
  if (data !== undefined) {
    return (
      <Page
        title="Channel not found"
        above={above}
        lead="You may have removed it, or another owner may have verified it since."
        width="narrow"
      >
        {may('manager') && (
          <Link
            to="/agents/$did/channels/new"
            params={{ did }}
            className={`self-start ${buttonClass('primary')}`}
          >
            Add a channel
          </Link>
        )}
      </Page>
    )
  }
  return (
    <Page title="Channel" above={above}>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the channel" />
          <Placeholder />
        </>
      )}
    </Page>
  )
}

function Placeholder() {
  return <Skeleton className="h-160 rounded-2xl" />
}
