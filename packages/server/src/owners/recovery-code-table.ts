import type { Db, RecoveryCodeRow, SignInLinkRow, Tx } from '../core/database/database.ts'

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

/** Puts a link in the place of the one that the owner had. */
export async function replaceSignInLink(tx: Tx, row: SignInLinkRow): Promise<void> {
  await tx.db.deleteFrom('sign_in_links').where('owner_id', '=', row.owner_id).execute()
  await tx.db.insertInto('sign_in_links').values(row).execute()
}

/** Uses a link up: of all who come with it, one gets it. */
export function takeSignInLink(tx: Tx, hash: Uint8Array): Promise<SignInLinkRow | undefined> {
  return tx.db
    .deleteFrom('sign_in_links')
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
}
