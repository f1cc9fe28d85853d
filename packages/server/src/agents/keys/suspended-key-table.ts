import type { Db, SuspendedKeyRow, Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'

const selectByKey = prepared<{ key: Uint8Array }, SuspendedKeyRow>((db, param) =>
  db.selectFrom('suspended_keys').selectAll().where('public_key', '=', param('key')),
)

/** The operator's suspension of a 32-byte key, if any. */
export async function suspensionOfKey(
  db: Db,
  key: Uint8Array,
): Promise<SuspendedKeyRow | undefined> {
  return (await selectByKey(db, { key }))[0]
}

/** @returns false, without a change, if the key is suspended already */
export async function insertSuspendedKey(tx: Tx, row: SuspendedKeyRow): Promise<boolean> {
  const inserted = await tx.db
    .insertInto('suspended_keys')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('public_key')
    .execute()
  return inserted.length > 0
}

/** @returns false if the key was not suspended */
export async function deleteSuspendedKey(tx: Tx, key: Uint8Array): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('suspended_keys')
    .where('public_key', '=', key)
    .returning('public_key')
    .execute()
  return deleted.length > 0
}
