import type { Db, Tx } from '../../database/database.ts'
import type { NotificationRow } from '../../database/schema/notification-rows.ts'

/** Where a page of notifications begins: after this one, in the order of `notificationsBefore`. */
export interface NotificationPosition {
  readonly createdAt: number
  readonly id: string
}

/**
 * An owner's notifications, newest first.
 * @param before null: start with the newest
 * @param kinds only these: newer releases may have stored others
 */
export function notificationsBefore(
  db: Db,
  ownerId: number,
  before: NotificationPosition | null,
  kinds: readonly string[],
  limit: number,
): Promise<NotificationRow[]> {
  let query = db
    .selectFrom('notifications')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('kind', 'in', kinds)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== null) {
    const { createdAt, id } = before
    query = query.where((eb) =>
      eb.or([
        eb('created_at', '<', createdAt),
        eb.and([eb('created_at', '=', createdAt), eb('id', '<', id)]),
      ]),
    )
  }
  return query.execute()
}

/** How many of an owner's notifications of these kinds are unread, counted up to `limit`. */
export async function countUnread(
  db: Db,
  ownerId: number,
  kinds: readonly string[],
  limit: number,
): Promise<number> {
  const rows = await db
    .selectFrom('notifications')
    .select('id')
    .where('owner_id', '=', ownerId)
    .where('kind', 'in', kinds)
    .where('read_at', 'is', null)
    .limit(limit)
    .execute()
  return rows.length
}

/** @param ids null: all of the owner's notifications */
export async function markRead(
  tx: Tx,
  ownerId: number,
  ids: readonly string[] | null,
  at: number,
): Promise<void> {
  let query = tx.db
    .updateTable('notifications')
    .set({ read_at: at })
    .where('owner_id', '=', ownerId)
    .where('read_at', 'is', null)
  if (ids !== null) query = query.where('id', 'in', ids)
  await query.execute()
}

export function notificationById(db: Db, id: string): Promise<NotificationRow | undefined> {
  return db.selectFrom('notifications').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The names that owners gave to agents, by tail. */
export async function agentNames(db: Db, tails: readonly string[]): Promise<Map<string, string>> {
  if (tails.length === 0) return new Map()
  const rows = await db
    .selectFrom('agents')
    .select(['tail', 'display_name'])
    .where('tail', 'in', tails)
    .execute()
  return new Map(
    rows.flatMap(({ tail, display_name: name }) => (name === null ? [] : [[tail, name] as const])),
  )
}
