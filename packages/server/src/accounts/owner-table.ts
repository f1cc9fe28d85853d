import type { Db, OwnerRow, ReleasedUsernameRow, Tx } from '../database/database.ts'
import { prepared } from '../database/prepared.ts'
import { readSetting, writeSetting } from '../database/settings-table.ts'

/** The owner of all agents whose accounts were deleted: one row, so that it groups none of them. */
export const DELETED_OWNER_ID = 0

/** Settings: the lowest id of the next owner, once the account with the highest one was deleted. No id is used twice. */
const NEXT_ID = 'next_owner_id'

const EMPTY = {
  kind: 'person',
  public_id: null,
  deleted_at: null,
  user_handle: null,
  suspended_at: null,
  suspension_reason: null,
  name_changed_at: null,
  badge_copied_at: null,
  onboarding_hidden_at: null,
} as const

/** Inserts an owner with the next id and returns the row. */
export async function insertOwner(
  tx: Tx,
  owner: Pick<OwnerRow, 'username' | 'display_name' | 'created_at' | 'username_skeleton'> &
    Partial<Pick<OwnerRow, 'kind' | 'public_id'>>,
): Promise<OwnerRow> {
  const row = { ...EMPTY, ...owner, id: await nextId(tx.db) }
  await tx.db.insertInto('owners').values(row).execute()
  return row
}

/** Greater than every id that was ever used. */
async function nextId(db: Db): Promise<number> {
  const next = Number((await readSetting(db, NEXT_ID)) ?? 1)
  return Math.max((await lastId(db)) + 1, next)
}

async function lastId(db: Db): Promise<number> {
  const { last } = await db
    .selectFrom('owners')
    .select((eb) => eb.fn.max('id').as('last'))
    .executeTakeFirstOrThrow()
  return last ?? 0
}

/** Inserts the row of deleted owners, unless it is there. Valid usernames contain no colon, so nobody can have this one. */
export async function insertDeletedOwner(tx: Tx): Promise<void> {
  await tx.db
    .insertInto('owners')
    .values({
      ...EMPTY,
      id: DELETED_OWNER_ID,
      username: ':deleted',
      display_name: '',
      username_skeleton: null,
      created_at: 0,
      deleted_at: 0,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}

/** Deletes the row of an owner to whom no other row refers. */
export async function deleteOwner(tx: Tx, id: number): Promise<void> {
  // A node that has not yet seen the deletion would show a new owner with this id for the agents of this one.
  if ((await lastId(tx.db)) === id) await writeSetting(tx, NEXT_ID, String(await nextId(tx.db)))
  await tx.db.deleteFrom('owners').where('id', '=', id).execute()
}

const selectById = prepared<{ id: number }, OwnerRow>((db, param) =>
  db.selectFrom('owners').selectAll().where('id', '=', param('id')),
)

export async function ownerById(db: Db, id: number): Promise<OwnerRow | undefined> {
  return (await selectById(db, { id }))[0]
}

/** The owners with these ids that are there. */
export async function ownersByIds(db: Db, ids: readonly number[]): Promise<OwnerRow[]> {
  // PostgreSQL rejects `in ()`.
  if (ids.length === 0) return []
  return db.selectFrom('owners').selectAll().where('id', 'in', ids).orderBy('id').execute()
}

export function ownerByUsername(db: Db, username: string): Promise<OwnerRow | undefined> {
  return db.selectFrom('owners').selectAll().where('username', '=', username).executeTakeFirst()
}

/** The first owner whose username has this confusable skeleton, if any. */
export function ownerBySkeleton(db: Db, skeleton: string): Promise<OwnerRow | undefined> {
  return db
    .selectFrom('owners')
    .selectAll()
    .where('username_skeleton', '=', skeleton)
    .orderBy('id')
    .executeTakeFirst()
}

export async function countOrganisations(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('owners')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('kind', '=', 'organisation')
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** A page of owners ordered by id, starting after the id `after`. */
export function ownersAfter(db: Db, after: number, limit: number): Promise<OwnerRow[]> {
  return db
    .selectFrom('owners')
    .selectAll()
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** The public columns of an owner. */
export type PublicOwnerRow = Pick<
  OwnerRow,
  'id' | 'kind' | 'username' | 'display_name' | 'deleted_at' | 'name_changed_at'
>

const selectPublic = prepared<{ after: number; limit: number }, PublicOwnerRow>((db, param) =>
  db
    .selectFrom('owners')
    .select(['id', 'kind', 'username', 'display_name', 'deleted_at', 'name_changed_at'])
    .where('id', '>', param('after'))
    .orderBy('id')
    .limit(param('limit')),
)

/** A page of owners with their public columns only, ordered by id, starting after the id `after`. */
export function publicOwnersAfter(db: Db, after: number, limit: number): Promise<PublicOwnerRow[]> {
  return selectPublic(db, { after, limit })
}

/** Changes public columns of an owner. */
export async function updateOwner(
  tx: Tx,
  id: number,
  values: Partial<
    Pick<OwnerRow, 'username' | 'display_name' | 'username_skeleton' | 'name_changed_at'>
  >,
): Promise<void> {
  await tx.db.updateTable('owners').set(values).where('id', '=', id).execute()
}

/**
 * Suspends an owner.
 * @param at milliseconds since 1970
 * @returns false, without a change, if the owner is suspended already
 */
export async function setSuspension(
  tx: Tx,
  id: number,
  reason: string | null,
  at: number,
): Promise<boolean> {
  const updated = await tx.db
    .updateTable('owners')
    .set({ suspended_at: at, suspension_reason: reason })
    .where('id', '=', id)
    .where('suspended_at', 'is', null)
    .returning('id')
    .execute()
  return updated.length > 0
}

/** Lifts an owner's suspension. @returns false, without a change, if the owner is not suspended */
export async function clearSuspension(tx: Tx, id: number): Promise<boolean> {
  const updated = await tx.db
    .updateTable('owners')
    .set({ suspended_at: null, suspension_reason: null })
    .where('id', '=', id)
    .where('suspended_at', 'is not', null)
    .returning('id')
    .execute()
  return updated.length > 0
}

/** Sets an owner's WebAuthn user handle, unless they have one. */
export async function setUserHandle(tx: Tx, id: number, handle: string): Promise<void> {
  await tx.db
    .updateTable('owners')
    .set({ user_handle: handle })
    .where('id', '=', id)
    .where('user_handle', 'is', null)
    .execute()
}

/** Deletes the released usernames that are available again. */
export async function deleteReleasedUsernames(tx: Tx, now: number): Promise<void> {
  await tx.db.deleteFrom('released_usernames').where('available_at', '<=', now).execute()
}

/** Inserts a released username, or replaces its previous owner and date. */
export async function upsertReleasedUsername(tx: Tx, row: ReleasedUsernameRow): Promise<void> {
  await tx.db
    .insertInto('released_usernames')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('hash').doUpdateSet((eb) => ({
        exact_hash: eb.ref('excluded.exact_hash'),
        owner_id: eb.ref('excluded.owner_id'),
        available_at: eb.ref('excluded.available_at'),
      })),
    )
    .execute()
}

export function releasedUsername(
  db: Db,
  hash: Uint8Array,
): Promise<ReleasedUsernameRow | undefined> {
  return db.selectFrom('released_usernames').selectAll().where('hash', '=', hash).executeTakeFirst()
}
