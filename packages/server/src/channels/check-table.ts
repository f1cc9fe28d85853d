import type { ChannelCheckRow, ChannelLeaseRow, ChannelRow, Db, Tx } from '../database/database.ts'

/** How many checks of a channel are stored. */
const MAX_STORED_CHECKS = 30

/** Inserts a check and deletes the channel's oldest ones. */
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
    .limit(MAX_STORED_CHECKS)
  await tx.db
    .deleteFrom('channel_checks')
    .where('channel_id', '=', check.channel_id)
    .where('at', 'not in', last)
    .execute()
}

/** A channel with when it is checked next and how it was checked. */
export interface ChannelWithChecks {
  readonly channel: ChannelRow
  /** Milliseconds since 1970. Null: no check is scheduled. */
  readonly dueAt: number | null
  /** Newest first. */
  readonly checks: readonly CheckResult[]
}

export type CheckResult = Omit<ChannelCheckRow, 'channel_id'>

/** The channels of an agent, the oldest first. Of a check that ends meanwhile, either all is seen or nothing. */
export async function channelsWithChecks(db: Db, tail: string): Promise<ChannelWithChecks[]> {
  // One statement, since each sees the database at a moment of its own.
  const rows = await db
    .selectFrom('channels')
    .selectAll('channels')
    .leftJoin('channel_leases', 'channel_leases.channel_id', 'channels.id')
    .leftJoin('channel_checks', 'channel_checks.channel_id', 'channels.id')
    .select(['due_at', 'at', 'outcome', 'perspectives'])
    .where('tail', '=', tail)
    .orderBy('created_at')
    .orderBy('id')
    .orderBy('at', 'desc')
    .execute()
  return [...Map.groupBy(rows, ({ id }) => id).values()].map((ofChannel) => {
    const channel = ofChannel[0] as (typeof rows)[number]
    const checks = ofChannel.filter((row): row is typeof row & CheckResult => row.at !== null)
    return { channel, dueAt: channel.due_at, checks }
  })
}

/**
 * Schedules the next check of a channel. A lease that is held stays held.
 * @param dueAt milliseconds since 1970; null: no scheduled check
 */
export async function scheduleCheck(tx: Tx, channelId: string, dueAt: number | null) {
  await tx.db
    .insertInto('channel_leases')
    .values({ channel_id: channelId, due_at: dueAt, leased_by: null, held_until: 0 })
    .onConflict((conflict) => conflict.column('channel_id').doUpdateSet({ due_at: dueAt }))
    .execute()
}

/** Schedules a check of a channel, unless one is scheduled earlier. */
export async function scheduleCheckBy(tx: Tx, channelId: string, dueAt: number) {
  await tx.db
    .updateTable('channel_leases')
    .set({ due_at: dueAt })
    .where('channel_id', '=', channelId)
    .where((eb) => eb.or([eb('due_at', 'is', null), eb('due_at', '>', dueAt)]))
    .execute()
}

/** All times in milliseconds since 1970. */
export interface LeaseTerms {
  readonly now: number
  /** When the lease times out. */
  readonly until: number
  /** Take the lease only if the channel is due by then: another node may have checked it in the meantime. Null: always. */
  readonly dueBy: number | null
}

/**
 * Takes the lease of a channel. Of several nodes one succeeds, and holds it until it ends the lease or the lease times out.
 * @param leasedBy identifies the lease: random, for one check
 * @returns false if another check holds it, or the channel is not due
 */
export async function acquireLease(
  tx: Tx,
  channelId: string,
  leasedBy: string,
  { now, until, dueBy }: LeaseTerms,
): Promise<boolean> {
  let query = tx.db
    .updateTable('channel_leases')
    .set({ leased_by: leasedBy, held_until: until })
    .where('channel_id', '=', channelId)
    .where('held_until', '<=', now)
  if (dueBy !== null) query = query.where('due_at', '<=', dueBy)
  return (await query.returning('channel_id').execute()).length > 0
}

/**
 * Ends a lease after a check.
 * @param dueAt the next scheduled check in milliseconds since 1970; null: none
 * @returns false if the lease timed out and another check has taken it, or the channel no longer exists
 */
export async function endLease(
  tx: Tx,
  channelId: string,
  leasedBy: string,
  dueAt: number | null,
): Promise<boolean> {
  const ended = await tx.db
    .updateTable('channel_leases')
    .set({ due_at: dueAt, leased_by: null, held_until: 0 })
    .where('channel_id', '=', channelId)
    .where('leased_by', '=', leasedBy)
    .returning('channel_id')
    .execute()
  return ended.length > 0
}

/**
 * Releases a lease without a check. The channel stays due.
 * @param notBefore the earliest time of the next check, in milliseconds since 1970
 */
export async function releaseLease(
  tx: Tx,
  channelId: string,
  leasedBy: string,
  notBefore: number,
): Promise<void> {
  await tx.db
    .updateTable('channel_leases')
    .set((eb) => ({
      leased_by: null,
      held_until: 0,
      due_at: eb.case().when('due_at', '<', notBefore).then(notBefore).else(eb.ref('due_at')).end(),
    }))
    .where('channel_id', '=', channelId)
    .where('leased_by', '=', leasedBy)
    .execute()
}

/** Channels that are due and whose lease is free, the longest due first. */
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

/** The earliest scheduled check, which may be in the past; null if none is scheduled. */
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
