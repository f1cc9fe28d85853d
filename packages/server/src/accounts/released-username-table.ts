import type { Db, ReleasedUsernameRow, Tx } from '../database/database.ts'

/** Inserts a released username, or replaces its previous owner and date, and deletes rows that are available again. */
export async function upsertReleasedUsername(
  tx: Tx,
  row: ReleasedUsernameRow,
  now: number,
): Promise<void> {
  await tx.db.deleteFrom('released_usernames').where('available_at', '<=', now).execute()
  await tx.db
    .insertInto('released_usernames')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('hash').doUpdateSet((eb) => ({
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
