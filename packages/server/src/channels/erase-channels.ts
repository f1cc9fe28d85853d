import { agentByTail } from '../agents/agent-table.ts'
import type { AgentRow, Tx } from '../core/database/database.ts'
import { planEnd } from './channel-end.ts'
import { channelsOfOwner, deleteChannel } from './channel-table.ts'
import { tellOfChannel } from './record-channel-event.ts'

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
    const facts = { reason }
    await tellOfChannel(tx, agent, { channel, type: 'channel.removed', facts, at })
  }
}
