import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
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
  const none = data?.channels.length === 0
  if (revoked && none) return null

  return (
    <Section
      anchor="channels"
      title="Channels"
      lead={
        revoked
          ? 'What was proven before the agent was revoked. Nothing of it is looked for any more.'
          : 'Places at which the agent can be reached, each of them proven. The strongest one makes the grade; the certificate shows all that count.'
      }
      actions={
        !revoked && (
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
      {none && <EmptyState />}
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

function EmptyState() {
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium">None yet.</p>
      <p className="max-w-2xl text-pretty">
        Whoever meets the agent cannot tell yet that it is the one they know from elsewhere. Prove
        one place that you control: it takes a few minutes, and is looked for again every day.
      </p>
    </div>
  )
}

function byStrength(a: OwnerChannel, b: OwnerChannel): number {
  return b.tier - a.tier
}
