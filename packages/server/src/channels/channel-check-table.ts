import type { ChannelCheckRow, Db, Tx } from '../core/database/database.ts'

/** So many checks of a channel are kept. */
const KEPT = 30

/** Records a check and forgets the oldest ones. */
export async function insertCheck(tx: Tx, check: ChannelCheckRow): Promise<void> {
  await tx.db
    .insertInto('channel_checks')
    .values(check)
    .onConflict((conflict) => conflict.columns(['channel_id', 'at']).doUpdateSet(check))
    .execute()
  const last = tx.db
    .selectFrom('channel_checks')
    .select('at')
    .where('channel_id', '=', check.channel_id)
    .orderBy('at', 'desc')
    .limit(KEPT)
  await tx.db
    .deleteFrom('channel_checks')
    .where('channel_id', '=', check.channel_id)
    .where('at', 'not in', last)
    .execute()
}

/** The last checks of the channels of an agent, newest first. */
export function checksOfAgent(db: Db, tail: string): Promise<ChannelCheckRow[]> {
  return db
    .selectFrom('channel_checks')
    .selectAll('channel_checks')
    .innerJoin('channels', 'channels.id', 'channel_checks.channel_id')
    .where('channels.tail', '=', tail)
    .orderBy('at', 'desc')
    .execute()
}
