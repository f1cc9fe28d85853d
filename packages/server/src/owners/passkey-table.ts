import type { Db, PasskeyRow, Tx } from '../core/database/database.ts'
import { ignoreUniqueViolation } from '../core/database/ignore-unique-violation.ts'

/** @returns false where the credential is registered already */
export async function insertPasskey(tx: Tx, row: PasskeyRow): Promise<boolean> {
  return ignoreUniqueViolation(tx, ['passkeys_pkey'], () =>
    tx.db.insertInto('passkeys').values(row).execute(),
  )
}

export function passkeyById(db: Db, credentialId: string): Promise<PasskeyRow | undefined> {
  return db
    .selectFrom('passkeys')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
}

/** An owner's passkeys, the oldest first. */
export function passkeysOfOwner(db: Db, ownerId: number): Promise<PasskeyRow[]> {
  return db
    .selectFrom('passkeys')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('created_at')
    .execute()
}

/** What one use of a passkey changes. */
export interface PasskeyUse {
  readonly credentialId: string
  /** The counter that the use was checked against. */
  readonly counterBefore: number
  readonly counter: number
  readonly backedUp: boolean
  readonly at: number
}

/** @returns false where the passkey is gone, or was used meanwhile: of two that race, one has been checked too early */
export async function recordPasskeyUse(tx: Tx, use: PasskeyUse): Promise<boolean> {
  const updated = await tx.db
    .updateTable('passkeys')
    .set({ counter: use.counter, backed_up: use.backedUp ? 1 : 0, last_used_at: use.at })
    .where('credential_id', '=', use.credentialId)
    .where('counter', '=', use.counterBefore)
    .returning('credential_id')
    .execute()
  return updated.length > 0
}

/** @returns the passkey as it is now, or undefined where the owner has none with this id */
export function renamePasskey(
  tx: Tx,
  ownerId: number,
  credentialId: string,
  name: string,
): Promise<PasskeyRow | undefined> {
  return tx.db
    .updateTable('passkeys')
    .set({ name })
    .where('owner_id', '=', ownerId)
    .where('credential_id', '=', credentialId)
    .returningAll()
    .executeTakeFirst()
}

/** @returns whether the owner had it */
export async function deletePasskey(
  tx: Tx,
  ownerId: number,
  credentialId: string,
): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('passkeys')
    .where('owner_id', '=', ownerId)
    .where('credential_id', '=', credentialId)
    .returning('credential_id')
    .execute()
  return deleted.length > 0
}
