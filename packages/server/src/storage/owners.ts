import type { Db, OwnerRow, Tx } from './database.ts'
import { prepared } from './prepared.ts'

export async function insertOwner(
  tx: Tx,
  owner: Omit<OwnerRow, 'id' | 'deleted_at'>,
): Promise<OwnerRow> {
  const { last } = await tx.db
    .selectFrom('owners')
    .select((eb) => eb.fn.max('id').as('last'))
    .executeTakeFirstOrThrow()
  const row = { ...owner, id: (last ?? 0) + 1, deleted_at: null }
  await tx.db.insertInto('owners').values(row).execute()
  return row
}

const selectById = prepared<{ id: number }, OwnerRow>((db, param) =>
  db.selectFrom('owners').selectAll().where('id', '=', param('id')),
)

export async function ownerById(db: Db, id: number): Promise<OwnerRow | undefined> {
  return (await selectById(db, { id }))[0]
}

export function ownerByUsername(db: Db, username: string): Promise<OwnerRow | undefined> {
  return db.selectFrom('owners').selectAll().where('username', '=', username).executeTakeFirst()
}

/** The owner whose username has this shape, if any. */
export function ownerLookingLike(db: Db, skeleton: string): Promise<OwnerRow | undefined> {
  return db
    .selectFrom('owners')
    .selectAll()
    .where('username_skeleton', '=', skeleton)
    .orderBy('id')
    .executeTakeFirst()
}

export function ownersAfter(db: Db, after: number, limit: number): Promise<OwnerRow[]> {
  return db
    .selectFrom('owners')
    .selectAll()
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
}
