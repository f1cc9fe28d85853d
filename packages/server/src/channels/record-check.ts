import { agentByTail } from '../agents/agent-table.ts'
import type { AgentRow, ChannelRow, Tx } from '../core/database/database.ts'
import { planEnd } from './channel-end.ts'
import { channelsOfOthers, deleteChannel, updateChannel } from './channel-table.ts'
import { insertCheck } from './check-table.ts'
import type { Look } from './observe.ts'
import { recordChannelEvent } from './record-channel-event.ts'
import type { AfterCheck } from './schedule.ts'

export interface Recorded {
  readonly agent: AgentRow
  /** As it was before the check. */
  readonly channel: ChannelRow
  readonly after: AfterCheck
  readonly look: Pick<Look, 'outcome' | 'perspectives'>
  readonly at: number
  /** Nobody looked at the place: its name is the owner's word, and others may choose the same. */
  readonly isMereName?: boolean
}

/** Records a check with all that comes of it: events, the grade, the end of the same channel elsewhere. */
export async function recordCheck(
  tx: Tx,
  { agent, channel, after, look, at, isMereName = false }: Recorded,
): Promise<void> {
  const { id } = channel
  const perspectives = JSON.stringify(look.perspectives)
  await insertCheck(tx, { channel_id: id, at, outcome: look.outcome, perspectives })
  if (Object.keys(after.patch).length > 0) await updateChannel(tx, id, after.patch)
  if (after.told === null) return
  if (after.told === 'verified' && !isMereName) await takeFromOthers(tx, agent, channel, at)
  await planEnd(tx, id, after.told === 'verified' ? (after.patch.fresh_until ?? null) : null)
  const payload = after.told === 'stale' ? { reason: 'not-found' } : {}
  await recordChannelEvent(tx, agent, { channel, type: `channel.${after.told}`, payload, at })
}

/** Who proves a place last has it: it cannot be where two owners' agents are reached. */
async function takeFromOthers(
  tx: Tx,
  agent: AgentRow,
  channel: ChannelRow,
  at: number,
): Promise<void> {
  for (const other of await channelsOfOthers(tx.db, channel, agent.owner_id)) {
    const holder = await agentByTail(tx.db, other.tail)
    await deleteChannel(tx, other.id)
    await planEnd(tx, other.id, null)
    if (holder === undefined) continue
    const payload = { reason: 'proven-by-another' }
    await recordChannelEvent(tx, holder, { channel: other, type: 'channel.removed', payload, at })
  }
}
