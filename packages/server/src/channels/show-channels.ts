import type { ChannelKindInWords, OwnerChannel, ProvenBy } from '@countersign/protocol'
import { requireOwn, tailOf } from '../agent-management/own-agent.ts'
import type {
  AgentRow,
  ChannelCheckRow,
  ChannelLeaseRow,
  ChannelRow,
} from '../core/database/database.ts'
import { timestamp } from '../core/timestamp.ts'
import { checksOfAgent } from './channel-check-table.ts'
import { type ChannelDeps, requireKind } from './channel-deps.ts'
import { leasesOfAgent } from './channel-lease-table.ts'
import { channelsOfAgent } from './channel-table.ts'
import { describeChannel, describeCheck } from './describe-channel.ts'
import type { ChannelKind } from './kinds/kind.ts'
import { openProof } from './proof.ts'

const CHECKS_SHOWN = 10

/** The kinds of channel, in words, the strongest first. */
export function kindsInWords(kinds: readonly ChannelKind[]): ChannelKindInWords[] {
  return kinds
    .map(({ id, label, tier, proves, field, check }) => {
      const provenBy: ProvenBy = check === null ? 'agent' : 'service'
      return { id, label, tier, proves, provenBy, field }
    })
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
  const at = now()
  const proof = openProof(site, agent, channel, at)
  return {
    id: channel.id,
    label: kind.label,
    link: kind.link(channel.handle_or_domain),
    ...describeChannel(channel, lease, at),
    proof: proof && { expiresAt: timestamp(proof.expiresAt), methods: [...kind.methods(proof)] },
    checks: checks.slice(0, CHECKS_SHOWN).map(describeCheck),
  }
}
