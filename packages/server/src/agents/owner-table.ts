import type { Db, OwnerRow, Tx } from '../core/database/database.ts'
import { prepared } from '../core/database/prepared.ts'

export async function insertOwner(
  tx: Tx,
  owner: Omit<OwnerRow, 'id' | 'deleted_at' | 'user_handle'>,
): Promise<OwnerRow> {
  const { last } = await tx.db
    .selectFrom('owners')
    .select((eb) => eb.fn.max('id').as('last'))
    .executeTakeFirstOrThrow()
  const row = { ...owner, id: (last ?? 0) + 1, deleted_at: null, user_handle: null }
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

/** What others see of an owner. */
export type PublicOwnerRow = Pick<OwnerRow, 'id' | 'username' | 'display_name' | 'deleted_at'>

const selectPublic = prepared<{ after: number; limit: number }, PublicOwnerRow>((db, param) =>
  db
    .selectFrom('owners')
    .select(['id', 'username', 'display_name', 'deleted_at'])
    .where('id', '>', param('after'))
    .orderBy('id')
    .limit(param('limit')),
)

/** The same without the rest, for loading many at once. */
export function publicOwnersAfter(db: Db, after: number, limit: number): Promise<PublicOwnerRow[]> {
  return selectPublic(db, { after, limit })
}

/** Changes what others see of an owner. */
export async function updateOwner(
  tx: Tx,
  id: number,
  values: Partial<Pick<OwnerRow, 'username' | 'display_name' | 'username_skeleton'>>,
): Promise<void> {
  await tx.db.updateTable('owners').set(values).where('id', '=', id).execute()
}

/** Gives an owner a user handle, unless they have one. */
export async function setUserHandle(tx: Tx, id: number, handle: string): Promise<void> {
  await tx.db
    .updateTable('owners')
    .set({ user_handle: handle })
    .where('id', '=', id)
    .where('user_handle', 'is', null)
    .execute()
}
