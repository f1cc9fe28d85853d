import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMay } from '../../api/use-may.ts'
import { useChannelStatus } from '../../channels/channel-status.ts'
import { channelsQuery } from '../../channels/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { ChannelItem } from './channel-item.tsx'

interface ChannelsSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

export function ChannelsSection({ did, agent }: ChannelsSectionProps) {
  const { data, error, isPending, refetch } = useQuery(channelsQuery(did))
  const channelStatusOf = useChannelStatus(did, agent)
  const revoked = agent.status === 'revoked'
  const may = useMay()
  const none = data?.channels.length === 0

  return (
    <Section
      title="Channels"
      lead={
        revoked
          ? 'Channels that were verified before the agent was revoked. They are no longer checked.'
          : 'Places where the agent can be reached. The strongest verified channel counts for the grade. The certificate shows all verified channels.'
      }
      actions={
        !revoked &&
        may('manager') && (
          <Link
            to="/agents/$did/channels/new"
            params={{ did }}
            className={buttonClass(none ? 'primary' : 'secondary')}
          >
            Add a channel
          </Link>
        )
      }
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the channels" />
          <Skeleton className="h-24" />
        </>
      )}
      {none && <EmptyState revoked={revoked} />}
      {data !== undefined && !none && (
        <ul className="flex flex-col divide-y divide-line border-line border-t">
          {data.channels.toSorted(byStrength).map((channel) => (
            <ChannelItem
              key={channel.id}
              did={did}
              channel={channel}
              channelStatus={channelStatusOf(channel)}
            />
          ))}
        </ul>
      )}
    </Section>
  )
}

function EmptyState({ revoked }: { readonly revoked: boolean }) {
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium">No channels</p>
      {!revoked && (
        <p className="max-w-2xl text-pretty">
          Verify a place that you control, such as a domain, so that people recognize the agent. It
          takes a few minutes and is checked every day.
        </p>
      )}
    </div>
  )
}

function byStrength(a: OwnerChannel, b: OwnerChannel): number {
  return b.tier - a.tier
}
