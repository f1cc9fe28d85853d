import type { Db, Tx } from '../database/database.ts'

/** How many entries that count each owner has caused on a day. */
export async function entriesOfOwners(
  db: Db,
  owners: readonly number[],
  day: number,
): Promise<Map<number, number>> {
  if (owners.length === 0) return new Map()
  const rows = await db
    .selectFrom('log_quotas')
    .selectAll()
    .where('owner_id', 'in', owners)
    .where('day', '=', day)
    .execute()
  return new Map(rows.map(({ owner_id, entries }) => [owner_id, entries]))
}

/** Stores how many entries an owner has caused on a day. */
export async function setEntriesOfOwner(
  { db }: Tx,
  owner: number,
  day: number,
  entries: number,
): Promise<void> {
  await db
    .insertInto('log_quotas')
    .values({ owner_id: owner, day, entries })
    .onConflict((conflict) => conflict.column('owner_id').doUpdateSet({ day, entries }))
    .execute()
}

/** Erases how many entries an owner has caused. */
export async function eraseQuota({ db }: Tx, ownerId: number): Promise<void> {
  await db.deleteFrom('log_quotas').where('owner_id', '=', ownerId).execute()
}
