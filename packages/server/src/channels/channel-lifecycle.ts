import type { NotificationKind } from '@countersign/protocol'
import {
  appendNotification,
  type NotificationDetails,
} from '../accounts/notifications/notify-owner.ts'
import { agentByTail } from '../agents/agent-table.ts'
import { type AgentEffect, changeAgent, isOfCurrentKey } from '../agents/changes/change-agent.ts'
import { OWNER_CHANGED, PROVEN_BY_ANOTHER } from '../agents/changes/changes.ts'
import type { AgentRow, ChannelRow, JobRow, Tx } from '../database/database.ts'
import { cancelJob, scheduleJob } from '../database/jobs/job-table.ts'
import { type CheckEffect, FAILING_MS, isVerified } from './channel-state.ts'
import {
  channelById,
  channelsOfAgent,
  channelsOfAgents,
  channelsOfOthers,
  deleteChannel,
  updateChannel,
} from './channel-table.ts'
import { insertCheck, scheduleCheck, scheduleCheckBy } from './check-table.ts'
import type { Observation } from './observe.ts'

/** The kind of the job that expires a channel. Stored in the database. */
export const EXPIRE_CHANNEL = 'expire-channel'

/** The method of proofs that consist of a signature by the agent's key alone. Stored in the database. */
export const ANSWER = 'answer'

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
  const change =
    event === 'stale'
      ? ({ type: 'channel.stale', channel, reason: 'not-found', isSilent: false } as const)
      : ({ type: 'channel.verified', channel } as const)
  await changeAgent(tx, agent.tail, change, at)
}

async function removeFromOtherOwners(
  tx: Tx,
  agent: AgentRow,
  channel: ChannelRow,
  at: number,
): Promise<void> {
  for (const other of await channelsOfOthers(tx.db, channel, agent.owner_id)) {
    await deleteWithEvent(tx, other, { reason: PROVEN_BY_ANOTHER, at })
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
  const expired = { type: 'channel.stale', channel, reason: 'expired', isSilent: false } as const
  await changeAgent(tx, agent.tail, expired, at)
}

/**
 * Deletes a channel with its tokens, checks and scheduled expiry. A channel that was ever proven leaves a `channel.removed`
 * event.
 */
export async function deleteWithEvent(
  tx: Tx,
  channel: ChannelRow,
  { reason, at }: { readonly reason: string; readonly at: number },
): Promise<void> {
  await deleteChannel(tx, channel.id)
  await scheduleExpiry(tx, channel.id, null)
  if (channel.verified_at === null) return
  // Of a move, its owner is notified of all agents at once.
  const isSilent = reason === OWNER_CHANGED || !isVerified(channel, at)
  await changeAgent(tx, channel.tail, { type: 'channel.removed', channel, reason, isSilent }, at)
}

/**
 * Deletes all channels of agents, because handles and domains can identify the owner. The caller erases the payloads of the
 * events that this writes.
 */
export async function eraseChannels(
  tx: Tx,
  tails: readonly string[],
  reason: string,
  at: number,
): Promise<void> {
  for (const channel of await channelsOfAgents(tx.db, tails)) {
    await deleteWithEvent(tx, channel, { reason, at })
  }
}

/**
 * What becomes of the channels of a changed agent. Revocation is final, so nothing restarts their checks. An attacker may have
 * given the answers that were signed by a key that was compromised or lost. What one owner has published proves nothing of the next.
 */
export const channelsOfChangedAgent: AgentEffect = {
  on: ['agent.revoked', 'agent.key_recovered', 'agent.key_compromised', 'agent.released'],
  makes: ['channel.stale', 'channel.removed'],
  async run(tx, changed) {
    const { change, after, at } = changed
    if (change.type === 'agent.revoked') await stopChecks(tx, after.tail)
    else if (change.type === 'agent.released') {
      if (!change.move.isSamePerson) await eraseChannels(tx, [after.tail], OWNER_CHANGED, at)
    } else if (change.type === 'agent.key_recovered') {
      await expireAnswered(tx, after.tail, 'key-replaced', at)
    } else if (isOfCurrentKey(changed)) await expireAnswered(tx, after.tail, 'key-compromised', at)
  },
}

/** Makes the channels stale that an agent proved by a signature of its key alone. */
async function expireAnswered(
  tx: Tx,
  tail: string,
  reason: 'key-compromised' | 'key-replaced',
  at: number,
): Promise<void> {
  for (const channel of await channelsOfAgent(tx.db, tail)) {
    const isFresh = channel.stale_since === null && (channel.fresh_until ?? at) > at
    if (channel.proven_by !== ANSWER || !isFresh) continue
    await updateChannel(tx, channel.id, { stale_since: at })
    await scheduleExpiry(tx, channel.id, null)
    await changeAgent(tx, tail, { type: 'channel.stale', channel, reason, isSilent: true }, at)
  }
}

/**
 * What becomes of an agent's channels after the log was recovered: those of a kind and tier that the log has lost are stale at once,
 * and the others are checked again.
 * @param isLost whether the log has the loss of a channel of this kind and tier
 */
export async function recheckAfterRestore(
  tx: Tx,
  tail: string,
  isLost: (channel: Pick<ChannelRow, 'kind' | 'tier'>) => boolean,
  at: number,
): Promise<void> {
  for (const channel of await channelsOfAgent(tx.db, tail)) {
    const { id, stale_since, verified_at } = channel
    if (verified_at === null || stale_since !== null) continue
    if (!isLost(channel)) {
      await scheduleCheckBy(tx, id, at)
      continue
    }
    await updateChannel(tx, id, { stale_since: at })
    await scheduleExpiry(tx, id, null)
    await scheduleCheck(tx, id, null)
    const stale = { type: 'channel.stale', channel, reason: 'not-found', isSilent: true } as const
    await changeAgent(tx, tail, stale, at)
  }
}

/** Stops all checks and expiries of an agent's channels. */
async function stopChecks(tx: Tx, tail: string): Promise<void> {
  for (const { id } of await channelsOfAgent(tx.db, tail)) {
    await scheduleCheck(tx, id, null)
    await scheduleExpiry(tx, id, null)
  }
}

/** Notifies the owner of an agent about one of its channels, in the transaction of the change. */
async function notifyOfChannel(
  tx: Tx,
  { owner_id: ownerId, tail, agent_id: agentId, status }: AgentRow,
  { id, kind: channelKind, handle_or_domain: handle }: ChannelRow,
  {
    kind,
    details,
    at,
  }: {
    readonly kind: NotificationKind
    readonly details: NotificationDetails
    /** Milliseconds since the Unix epoch. */
    readonly at: number
  },
): Promise<void> {
  if (status === 'revoked') return
  const subject = `${id}:${at}`
  const about = { tail, agentId, channelId: id, channelKind, handle }
  await appendNotification(tx, { ownerId, kind, subject, details: { ...about, ...details }, at })
}
