import type { ChannelCheckRow, ChannelLeaseRow, Db, Tx } from '../core/database/database.ts'

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

/** Says when a channel is to be checked next; null: not by itself. Whoever is at it keeps their lease. */
export async function scheduleCheck(tx: Tx, channelId: string, dueAt: number | null) {
  await tx.db
    .insertInto('channel_leases')
    .values({ channel_id: channelId, due_at: dueAt, holder: null, held_until: 0 })
    .onConflict((conflict) => conflict.column('channel_id').doUpdateSet({ due_at: dueAt }))
    .execute()
}

/** Says that a channel is to be checked at a moment, unless it is due before that anyway. */
export async function scheduleCheckBy(tx: Tx, channelId: string, dueAt: number) {
  await tx.db
    .updateTable('channel_leases')
    .set({ due_at: dueAt })
    .where('channel_id', '=', channelId)
    .where((eb) => eb.or([eb('due_at', 'is', null), eb('due_at', '>', dueAt)]))
    .execute()
}

export interface LeaseTerms {
  readonly now: number
  readonly until: number
  /** Only where it is due by then: whoever read that it is may have read it before another checked it. Null: anyway. */
  readonly dueBy: number | null
}

/**
 * Takes the lease of a channel: of all nodes that try, one has it until it gives it back or its time is over.
 * @param holder random, for this one check
 */
export async function takeLease(
  tx: Tx,
  channelId: string,
  holder: string,
  { now, until, dueBy }: LeaseTerms,
): Promise<boolean> {
  let query = tx.db
    .updateTable('channel_leases')
    .set({ holder, held_until: until })
    .where('channel_id', '=', channelId)
    .where('held_until', '<=', now)
  if (dueBy !== null) query = query.where('due_at', '<=', dueBy)
  return (await query.returning('channel_id').execute()).length > 0
}

/**
 * Ends a lease after a check.
 * @param dueAt when the channel is to be checked next; null: not by itself
 * @returns false where its time was over and another has it, or the channel is gone
 */
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

/**
 * Gives a lease back without a check. What was to be checked still is.
 * @param notBefore but not sooner than that
 */
export async function giveLeaseBack(
  tx: Tx,
  channelId: string,
  holder: string,
  notBefore: number,
): Promise<void> {
  await tx.db
    .updateTable('channel_leases')
    .set((eb) => ({
      holder: null,
      held_until: 0,
      due_at: eb.case().when('due_at', '<', notBefore).then(notBefore).else(eb.ref('due_at')).end(),
    }))
    .where('channel_id', '=', channelId)
    .where('holder', '=', holder)
    .execute()
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

/** Since when the channel that is due first has been, or will be; null where none is to be checked. */
export async function firstDue(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('channel_leases')
    .select('due_at')
    .where('due_at', 'is not', null)
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.due_at ?? null
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
