import type { Tx } from '../core/database/database.ts'
import { planEnd } from './channel-end.ts'
import { scheduleCheck } from './channel-lease-table.ts'
import { channelsOfAgent } from './channel-table.ts'

/** An agent is revoked, for good: its channels are checked no more, and nothing more is told of them. */
export async function stopChecks(tx: Tx, tail: string): Promise<void> {
  for (const { id } of await channelsOfAgent(tx.db, tail)) {
    await scheduleCheck(tx, id, null)
    await planEnd(tx, id, null)
  }
}
