import type { OwnerAgent, OwnerChannel } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { channelsQuery } from '../../channels/queries.ts'
import { useStanding } from '../../channels/use-standing.ts'
import { buttonClass } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Section } from '../../parts/page.tsx'
import { Loading, Skeleton } from '../../parts/skeleton.tsx'
import { ChannelItem } from './channel-item.tsx'

interface ChannelsSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

/** Where the agent can be reached, and how that stands. */
export function ChannelsSection({ did, agent }: ChannelsSectionProps) {
  const { data, error, isPending, refetch } = useQuery(channelsQuery(did))
  const standingOf = useStanding(did, agent)
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
      {none && <NothingYet />}
      {data !== undefined && !none && (
        <ul className="flex flex-col divide-y divide-line border-line border-t">
          {data.channels.toSorted(byStrength).map((channel) => (
            <ChannelItem
              key={channel.id}
              did={did}
              channel={channel}
              standing={standingOf(channel)}
            />
          ))}
        </ul>
      )}
    </Section>
  )
}

function NothingYet() {
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
