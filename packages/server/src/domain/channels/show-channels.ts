import type {
  ChannelCheck,
  ChannelKindInWords,
  ChannelState,
  OwnerChannel,
} from '@countersign/protocol'
import type { ChannelKind } from '../../adapters/channels/kind.ts'
import { checksOfAgent } from '../../storage/channel-checks.ts'
import { leasesOfAgent } from '../../storage/channel-leases.ts'
import { channelsOfAgent } from '../../storage/channels.ts'
import type {
  AgentRow,
  ChannelCheckRow,
  ChannelLeaseRow,
  ChannelRow,
} from '../../storage/database.ts'
import { requireOwn, tailOf } from '../owner-agents/own-agent.ts'
import { timestamp } from '../timestamp.ts'
import { type ChannelDeps, requireKind } from './channel-deps.ts'
import { openProof } from './proof.ts'

const CHECKS_SHOWN = 10

/** The kinds of channel, in words, the strongest first. */
export function kindsInWords(kinds: readonly ChannelKind[]): ChannelKindInWords[] {
  return kinds
    .map(({ id, label, tier, proves, field }) => ({ id, label, tier, proves, field }))
    .sort((a, b) => b.tier - a.tier)
}

/**
 * The channels of one of the owner's agents, the oldest first.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function showChannels(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
): Promise<OwnerChannel[]> {
  const { read } = deps.db
  const agent = await requireOwn(read, ownerId, tailOf(deps.site.naming, reference))
  const [channels, checks, leases] = await Promise.all([
    channelsOfAgent(read, agent.tail),
    checksOfAgent(read, agent.tail),
    leasesOfAgent(read, agent.tail),
  ])
  const checksOf = Map.groupBy(checks, (each) => each.channel_id)
  const leaseOf = new Map(leases.map((each) => [each.channel_id, each]))
  return channels.map((channel) =>
    describe(deps, agent, channel, checksOf.get(channel.id) ?? [], leaseOf.get(channel.id)),
  )
}

function describe(
  { site, outside, now }: ChannelDeps,
  agent: AgentRow,
  channel: ChannelRow,
  checks: readonly ChannelCheckRow[],
  lease: ChannelLeaseRow | undefined,
): OwnerChannel {
  const kind = requireKind(outside, channel.kind)
  const handle = channel.handle_or_domain
  const proof = openProof(site, agent, channel, now())
  return {
    id: channel.id,
    kind: kind.id,
    label: kind.label,
    handleOrDomain: handle,
    tier: channel.tier,
    link: kind.link(handle),
    state: stateOf(channel),
    createdAt: timestamp(channel.created_at),
    verifiedAt: orNull(channel.verified_at),
    checkedAt: orNull(channel.checked_at),
    freshUntil: orNull(channel.fresh_until),
    staleSince: orNull(channel.stale_since),
    failingSince: orNull(channel.failing_since),
    nextCheckAt: orNull(lease?.due_at ?? null),
    proof: proof && { expiresAt: timestamp(proof.expiresAt), methods: [...kind.methods(proof)] },
    checks: checks.slice(0, CHECKS_SHOWN).map(describeCheck),
  }
}

function stateOf({ verified_at, stale_since }: ChannelRow): ChannelState {
  if (verified_at === null) return 'pending'
  return stale_since === null ? 'verified' : 'stale'
}

function describeCheck({ at, outcome, perspectives }: ChannelCheckRow): ChannelCheck {
  return { at: timestamp(at), outcome, perspectives: JSON.parse(perspectives) }
}

function orNull(time: number | null): string | null {
  return time === null ? null : timestamp(time)
}
