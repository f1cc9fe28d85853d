import { agentByTail } from '../agents/agent-table.ts'
import type { AgentRow, JobRow, Tx } from '../core/database/database.ts'
import { cancelJob, scheduleJob } from '../core/jobs/job-table.ts'
import {
  channelById,
  channelsOfAgent,
  channelsOfOwner,
  deleteChannel,
  updateChannel,
} from './channel-table.ts'
import { scheduleCheck } from './check-table.ts'
import { recordChannelEvent } from './record-channel-event.ts'

export const END_CHANNEL = 'end-channel'

/** Plans the moment from which a channel counts no more without a fresh token; null: none. */
export async function planEnd(tx: Tx, channelId: string, at: number | null): Promise<void> {
  const id = `${END_CHANNEL}:${channelId}`
  if (at === null) return cancelJob(tx, id)
  await scheduleJob(tx, { id, kind: END_CHANNEL, subject: channelId, run_at: at })
}

/** The time of a proof is over. Of a revoked agent nothing more is told. */
export async function endChannel(tx: Tx, { subject: id }: JobRow, at: number): Promise<void> {
  const channel = await channelById(tx.db, id)
  const agent = channel && (await agentByTail(tx.db, channel.tail))
  if (channel === undefined || agent === undefined || agent.status === 'revoked') return
  if (channel.stale_since !== null || channel.fresh_until === null) return
  if (channel.fresh_until > at) return planEnd(tx, id, channel.fresh_until)
  await updateChannel(tx, id, { stale_since: channel.fresh_until })
  await scheduleCheck(tx, id, null)
  const payload = { reason: 'expired' }
  await recordChannelEvent(tx, agent, { channel, type: 'channel.stale', payload, at })
}

/**
 * Deletes the channels of an owner's agents, with their tokens and checks: where agents were reached says who their owner
 * was. Each that was ever proven has an event that tells, whose facts are to be erased with the others.
 */
export async function eraseChannels(
  tx: Tx,
  ownerId: number,
  reason: string,
  at: number,
): Promise<void> {
  for (const channel of await channelsOfOwner(tx.db, ownerId)) {
    await deleteChannel(tx, channel.id)
    await planEnd(tx, channel.id, null)
    if (channel.verified_at === null) continue
    const agent = (await agentByTail(tx.db, channel.tail)) as AgentRow
    const payload = { reason }
    await recordChannelEvent(tx, agent, { channel, type: 'channel.removed', payload, at })
  }
}

/** An agent is revoked, for good: its channels are checked no more, and nothing more is told of them. */
export async function stopChecks(tx: Tx, tail: string): Promise<void> {
  for (const { id } of await channelsOfAgent(tx.db, tail)) {
    await scheduleCheck(tx, id, null)
    await planEnd(tx, id, null)
  }
}
