import { agentByTail, touchAgent } from '../agents/agent-table.ts'
import type { AgentEffect } from '../agents/changes/agent-effects.ts'
import { type LoggedChange, logChange } from '../agents/changes/log-change.ts'
import { regrade } from '../agents/changes/regrade.ts'
import type { AgentRow, ChannelRow, JobRow, Tx } from '../database/database.ts'
import { appendEvent } from '../database/event-table.ts'
import { cancelJob, scheduleJob } from '../database/jobs/job-table.ts'
import { type CheckEffect, FAILING_MS, isVerified } from './channel-state.ts'
import {
  channelById,
  channelsOfAgent,
  channelsOfOthers,
  channelsOfOwner,
  deleteChannel,
  updateChannel,
} from './channel-table.ts'
import { insertCheck, scheduleCheck } from './check-table.ts'
import { notifyOfChannel, notifyOfLoss } from './notify-of-channel.ts'
import type { Observation } from './observe.ts'

/** The kind of the job that expires a channel. Stored in the database. */
export const EXPIRE_CHANNEL = 'end-channel'

/** The method of proofs that consist of a signature by the agent's key alone. Stored in the database. */
export const ANSWER = 'answer'

interface ChannelEvent {
  readonly channel: Pick<ChannelRow, 'kind' | 'handle_or_domain' | 'tier'>
  readonly type: 'channel.verified' | 'channel.stale' | 'channel.removed'
  /** Stored beside the channel's kind and handle. Public data only. */
  readonly payload: { readonly reason?: string }
  /** Milliseconds since 1970. */
  readonly at: number
}

/**
 * Appends the event of a channel's change and updates the agent's grade. Call it after the change was written, in the same
 * transaction.
 */
export async function recordChannelEvent(
  tx: Tx,
  agent: AgentRow,
  { channel, type, payload, at }: ChannelEvent,
): Promise<void> {
  const { tail, owner_id: ownerId } = agent
  const seq = tx.nextSeq()
  await touchAgent(tx, tail, { at, version: seq })
  const place = { kind: channel.kind, handleOrDomain: channel.handle_or_domain }
  await appendEvent(tx, { seq, at, type, tail, ownerId, payload: { ...place, ...payload } })
  // Another owner's proof takes the channel from all agents of this one at the same moment.
  const isSpread = payload.reason === PROVEN_BY_ANOTHER
  await logChannel(tx, agent, { channel, type, payload, at }, { seq, isSpread })
  await regrade(tx, tail, at, isSpread)
}

const PROVEN_BY_ANOTHER = 'proven-by-another'

/** The log names the kind and the tier only: a handle may identify a person. The end of a revoked agent has an entry already. */
async function logChannel(
  tx: Tx,
  agent: AgentRow,
  { channel, type, payload, at }: ChannelEvent,
  logged: Pick<LoggedChange, 'seq' | 'isSpread'>,
): Promise<void> {
  if (agent.status === 'revoked') return
  const { kind, tier, handle_or_domain: handleOrDomain } = channel
  await logChange(tx, agent.tail, {
    ...{ ...logged, at, by: payload.reason === 'owner' ? 'owner' : 'service' },
    change: { type: type === 'channel.verified' ? 'channel_verified' : 'channel_lost', kind, tier },
    evidence: { kind, handleOrDomain, reason: payload.reason ?? null },
  })
}

/** A check that has ended, with everything `recordCheck` writes. */
export interface CheckRecord {
  readonly agent: AgentRow
  /** As it was before the check. */
  readonly channel: ChannelRow
  readonly effect: CheckEffect
  readonly observation: Pick<Observation, 'outcome' | 'perspectives'>
  /** Milliseconds since 1970. */
  readonly at: number
  /** The handle is a label chosen by the owner, not a verified place: other owners may use the same one. */
  readonly isSelfDeclared?: boolean
}

/**
 * Records a check and its effect: the channel's new state, its expiry, the event and the agent's grade. A newly proven
 * place is removed from other owners' agents, because the last proof decides who holds it.
 */
export async function recordCheck(
  tx: Tx,
  { agent, channel, effect, observation, at, isSelfDeclared = false }: CheckRecord,
): Promise<void> {
  const { id } = channel
  const { patch, event } = effect
  const { outcome } = observation
  const perspectives = JSON.stringify(observation.perspectives)
  await insertCheck(tx, { channel_id: id, at, outcome, perspectives })
  if (Object.keys(patch).length > 0) await updateChannel(tx, id, patch)
  if (channel.failing_since === null && patch.failing_since) {
    const staleAt = patch.failing_since + FAILING_MS
    await notifyOfChannel(tx, agent, channel, { kind: 'channel_failing', details: { staleAt }, at })
  }
  if (event === null) return
  if (event === 'verified' && !isSelfDeclared) await removeFromOtherOwners(tx, agent, channel, at)
  await scheduleExpiry(tx, id, event === 'verified' ? (patch.fresh_until ?? null) : null)
  if (event === 'stale') await notifyOfLoss(tx, agent, channel, 'not-found', at)
  const payload = event === 'stale' ? { reason: 'not-found' } : {}
  await recordChannelEvent(tx, agent, { channel, type: `channel.${event}`, payload, at })
}

async function removeFromOtherOwners(
  tx: Tx,
  agent: AgentRow,
  channel: ChannelRow,
  at: number,
): Promise<void> {
  for (const other of await channelsOfOthers(tx.db, channel, agent.owner_id)) {
    const loser = await agentByTail(tx.db, other.tail)
    await deleteWithEvent(tx, loser, other, { reason: PROVEN_BY_ANOTHER, at })
  }
}

/**
 * Schedules the expiry of a channel, replacing an earlier schedule.
 * @param at milliseconds since 1970; null cancels it
 */
export async function scheduleExpiry(tx: Tx, channelId: string, at: number | null): Promise<void> {
  const id = `${EXPIRE_CHANNEL}:${channelId}`
  if (at === null) return cancelJob(tx, id)
  await scheduleJob(tx, { id, kind: EXPIRE_CHANNEL, subject: channelId, run_at: at })
}

/**
 * The job that makes a channel stale at the end of `fresh_until`. It does nothing for channels of revoked agents, and
 * reschedules itself if the channel was proven again in the meantime.
 */
export async function expireChannel(tx: Tx, { subject: id }: JobRow, at: number): Promise<void> {
  const channel = await channelById(tx.db, id)
  const agent = channel && (await agentByTail(tx.db, channel.tail))
  if (channel === undefined || agent === undefined || agent.status === 'revoked') return
  if (channel.stale_since !== null || channel.fresh_until === null) return
  if (channel.fresh_until > at) return scheduleExpiry(tx, id, channel.fresh_until)
  await updateChannel(tx, id, { stale_since: channel.fresh_until })
  await scheduleCheck(tx, id, null)
  await notifyOfLoss(tx, agent, channel, 'expired', at)
  const payload = { reason: 'expired' }
  await recordChannelEvent(tx, agent, { channel, type: 'channel.stale', payload, at })
}

/**
 * Deletes a channel with its tokens, checks and scheduled expiry. A channel that was ever proven leaves a `channel.removed`
 * event.
 * @param agent the channel's agent; undefined if it no longer exists, then no event is written
 */
export async function deleteWithEvent(
  tx: Tx,
  agent: AgentRow | undefined,
  channel: ChannelRow,
  { reason, at }: { readonly reason: string; readonly at: number },
): Promise<void> {
  await deleteChannel(tx, channel.id)
  await scheduleExpiry(tx, channel.id, null)
  if (channel.verified_at === null || agent === undefined) return
  if (isVerified(channel, at)) await notifyOfLoss(tx, agent, channel, reason, at)
  const payload = { reason }
  await recordChannelEvent(tx, agent, { channel, type: 'channel.removed', payload, at })
}

/**
 * Deletes all channels of an owner's agents, because handles and domains can identify the owner. The caller erases the
 * payloads of the events that this writes.
 */
export async function eraseChannels(
  tx: Tx,
  ownerId: number,
  reason: string,
  at: number,
): Promise<void> {
  for (const channel of await channelsOfOwner(tx.db, ownerId)) {
    await deleteWithEvent(tx, await agentByTail(tx.db, channel.tail), channel, { reason, at })
  }
}

/**
 * What becomes of the channels of a changed agent. Revocation is final, so nothing restarts their checks. An attacker may have
 * given the answers that were signed by a key that was compromised or lost.
 */
export const channelsOfChangedAgent: AgentEffect = {
  on: ['agent.revoked', 'agent.key_compromised', 'agent.key_recovered'],
  async run(tx, { type, before, at }) {
    if (type === 'agent.revoked') await stopChecks(tx, before.tail)
    else if (type === 'agent.key_recovered') await expireAnswered(tx, before, 'key-replaced', at)
    else await expireAnswered(tx, before, 'key-compromised', at)
  },
}

/** Makes the channels stale that an agent proved by a signature of its key alone. */
async function expireAnswered(
  tx: Tx,
  agent: AgentRow,
  reason: 'key-compromised' | 'key-replaced',
  at: number,
): Promise<void> {
  for (const channel of await channelsOfAgent(tx.db, agent.tail)) {
    const isFresh = channel.stale_since === null && (channel.fresh_until ?? at) > at
    if (channel.proven_by !== ANSWER || !isFresh) continue
    await updateChannel(tx, channel.id, { stale_since: at })
    await scheduleExpiry(tx, channel.id, null)
    const payload = { reason }
    await recordChannelEvent(tx, agent, { channel, type: 'channel.stale', payload, at })
  }
}

/** Stops all checks and expiries of an agent's channels. */
async function stopChecks(tx: Tx, tail: string): Promise<void> {
  for (const { id } of await channelsOfAgent(tx.db, tail)) {
    await scheduleCheck(tx, id, null)
    await scheduleExpiry(tx, id, null)
  }
}
