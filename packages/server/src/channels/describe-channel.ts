import type { AccountExport, ChannelCheck, ChannelState, Tier } from '@countersign/protocol'
import type { ChannelCheckRow, ChannelLeaseRow, ChannelRow, Db } from '../core/database/database.ts'
import { timestamp } from '../core/timestamp.ts'
import { channelsOfAgent } from './channel-table.ts'
import { checksOfAgent, leasesOfAgent } from './check-table.ts'
import { isCounting } from './schedule.ts'

/** What is known of a channel, but for its proof. */
export interface ChannelInWords {
  readonly kind: string
  readonly handleOrDomain: string
  readonly tier: Tier
  readonly state: ChannelState
  readonly createdAt: string
  readonly verifiedAt: string | null
  readonly checkedAt: string | null
  readonly freshUntil: string | null
  readonly staleSince: string | null
  readonly failingSince: string | null
  readonly nextCheckAt: string | null
}

export function describeChannel(
  channel: ChannelRow,
  lease: ChannelLeaseRow | undefined,
  now: number,
): ChannelInWords {
  const state = stateOf(channel, now)
  // Its time may be over a moment before that is recorded.
  const staleSince = channel.stale_since ?? (state === 'stale' ? channel.fresh_until : null)
  return {
    kind: channel.kind,
    handleOrDomain: channel.handle_or_domain,
    tier: channel.tier,
    state,
    createdAt: timestamp(channel.created_at),
    verifiedAt: orNull(channel.verified_at),
    checkedAt: orNull(channel.checked_at),
    freshUntil: orNull(channel.fresh_until),
    staleSince: orNull(staleSince),
    failingSince: orNull(channel.failing_since),
    nextCheckAt: orNull(lease?.due_at ?? null),
  }
}

export function describeCheck({ at, outcome, perspectives }: ChannelCheckRow): ChannelCheck {
  return { at: timestamp(at), outcome, perspectives: JSON.parse(perspectives) }
}

function stateOf(channel: ChannelRow, now: number): ChannelState {
  if (channel.verified_at === null) return 'pending'
  return isCounting(channel, now) ? 'verified' : 'stale'
}

function orNull(time: number | null): string | null {
  return time === null ? null : timestamp(time)
}

type ExportedChannel = AccountExport['agents'][number]['channels'][number]

/** All that is held on the channels of an agent, but for tokens: who has an open one can prove the channel. */
export async function exportChannels(
  db: Db,
  tail: string,
  now: number,
): Promise<ExportedChannel[]> {
  const channels = await channelsOfAgent(db, tail)
  if (channels.length === 0) return []
  const leases = new Map((await leasesOfAgent(db, tail)).map((each) => [each.channel_id, each]))
  const checks = Map.groupBy(await checksOfAgent(db, tail), (each) => each.channel_id)
  return channels.map((channel) => ({
    ...describeChannel(channel, leases.get(channel.id), now),
    id: channel.id,
    method: channel.proven_by,
    tokenExpiresAt: channel.proof_expires_at === null ? null : timestamp(channel.proof_expires_at),
    checks: (checks.get(channel.id) ?? []).map(describeCheck),
  }))
}
