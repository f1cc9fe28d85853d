import {
  type ChannelKindInWords,
  CodedError,
  type OwnerChannel,
  type ProvenBy,
} from '@countersign/protocol'
import { requireOwn, tailOf } from '../agents/require-own-agent.ts'
import type {
  AgentRow,
  ChannelCheckRow,
  ChannelLeaseRow,
  ChannelRow,
  Db,
} from '../core/database/database.ts'
import { timestamp } from '../core/timestamp.ts'
import { channelById, channelsOfAgent } from './channel-table.ts'
import { checksOfAgent, leasesOfAgent } from './check-table.ts'
import { type ChannelDeps, requireKind } from './deps.ts'
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

export interface OwnChannel {
  readonly agent: AgentRow
  readonly channel: ChannelRow
}

/**
 * A channel of one of the owner's agents. Of another's it says what it says of one that does not exist.
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function requireOwnChannel(
  db: Db,
  { site }: Pick<ChannelDeps, 'site'>,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnChannel> {
  const agent = await requireOwn(db, ownerId, tailOf(site.naming, reference))
  const channel = await channelById(db, id)
  if (channel?.tail !== agent.tail) throw notFound()
  return { agent, channel }
}

/** @throws CodedError NOT_FOUND where it has been removed meanwhile */
export async function showChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  const channels = await showChannels(deps, ownerId, reference)
  const channel = channels.find((each) => each.id === id)
  if (channel === undefined) throw notFound()
  return channel
}

function notFound(): CodedError {
  return new CodedError('NOT_FOUND', 'This agent has no such channel.')
}
