import { scheduleCheck } from '../../storage/channel-leases.ts'
import { channelsOfAgent } from '../../storage/channels.ts'
import type { Tx } from '../../storage/database.ts'
import { planEnd } from './channel-end.ts'

/** An agent is revoked, for good: its channels are checked no more, and nothing more is told of them. */
export async function stopChecks(tx: Tx, tail: string): Promise<void> {
  for (const { id } of await channelsOfAgent(tx.db, tail)) {
    await scheduleCheck(tx, id, null)
    await planEnd(tx, id, null)
  }
}
