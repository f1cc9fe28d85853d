import type { ChannelLeaseRow, Db, Tx } from './database.ts'

/** Says when a channel is to be checked next; null: not by itself. Whoever is at it keeps their lease. */
export async function scheduleCheck(tx: Tx, channelId: string, dueAt: number | null) {
  await tx.db
    .insertInto('channel_leases')
    .values({ channel_id: channelId, due_at: dueAt, holder: null, held_until: 0 })
    .onConflict((conflict) => conflict.column('channel_id').doUpdateSet({ due_at: dueAt }))
    .execute()
}

/**
 * Takes the lease of a channel: of all nodes that try, one has it until it gives it back or its time is over.
 * @param holder random, for this one check
 */
export async function takeLease(
  tx: Tx,
  channelId: string,
  holder: string,
  { now, until }: { readonly now: number; readonly until: number },
): Promise<boolean> {
  const taken = await tx.db
    .updateTable('channel_leases')
    .set({ holder, held_until: until })
    .where('channel_id', '=', channelId)
    .where('held_until', '<=', now)
    .returning('channel_id')
    .execute()
  return taken.length > 0
}

/** Gives a lease back. @returns false where its time was over and another has it, or the channel is gone */
export async function endLease(
  tx: Tx,
  channelId: string,
  holder: string,
  dueAt: number | null,
): Promise<boolean> {
  const ended = await tx.db
    .updateTable('channel_leases')
    .set({ due_at: dueAt, holder: null, held_until: 0 })
    .where('channel_id', '=', channelId)
    .where('holder', '=', holder)
    .returning('channel_id')
    .execute()
  return ended.length > 0
}

/** Channels that are due and that nobody is at, the longest due first. */
export function dueChannels(db: Db, now: number, limit: number): Promise<ChannelLeaseRow[]> {
  return db
    .selectFrom('channel_leases')
    .selectAll()
    .where('due_at', '<=', now)
    .where('held_until', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
}

/** When the channels of an agent are due. */
export function leasesOfAgent(db: Db, tail: string): Promise<ChannelLeaseRow[]> {
  return db
    .selectFrom('channel_leases')
    .selectAll('channel_leases')
    .innerJoin('channels', 'channels.id', 'channel_leases.channel_id')
    .where('channels.tail', '=', tail)
    .execute()
}
