import type { Db, RecoveryCodeRow, Tx } from '../core/database/database.ts'

/** Puts new codes in the place of all that the owner had. */
export async function replaceRecoveryCodes(
  tx: Tx,
  ownerId: number,
  hashes: readonly Uint8Array[],
  at: number,
): Promise<void> {
  await tx.db.deleteFrom('recovery_codes').where('owner_id', '=', ownerId).execute()
  const rows = hashes.map((hash) => ({ hash, owner_id: ownerId, created_at: at }))
  await tx.db.insertInto('recovery_codes').values(rows).execute()
}

/** Uses a code up: of all who race for it, one gets true. */
export async function takeRecoveryCode(
  tx: Tx,
  ownerId: number,
  hash: Uint8Array,
): Promise<boolean> {
  const taken = await tx.db
    .deleteFrom('recovery_codes')
    .where('hash', '=', hash)
    .where('owner_id', '=', ownerId)
    .returning('owner_id')
    .execute()
  return taken.length > 0
}

/** The codes that an owner has left. */
export function recoveryCodesOfOwner(
  db: Db,
  ownerId: number,
): Promise<Pick<RecoveryCodeRow, 'created_at'>[]> {
  return db
    .selectFrom('recovery_codes')
    .select('created_at')
    .where('owner_id', '=', ownerId)
    .execute()
}
