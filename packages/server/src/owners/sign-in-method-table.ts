import type {
  Db,
  PasskeyRow,
  RecoveryCodeRow,
  SignInIdentityRow,
  SignInLinkRow,
  Tx,
} from '../core/database/database.ts'
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
export function updatePasskeyName(
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

/** @returns false where the account elsewhere opens an account here already, or the owner has linked another one of it */
export async function insertSignInIdentity(tx: Tx, row: SignInIdentityRow): Promise<boolean> {
  return ignoreUniqueViolation(tx, ['sign_in_identities_pk', 'sign_in_identities_owner'], () =>
    tx.db.insertInto('sign_in_identities').values(row).execute(),
  )
}

export function signInIdentity(
  db: Db,
  provider: string,
  subjectHash: Uint8Array,
): Promise<SignInIdentityRow | undefined> {
  return db
    .selectFrom('sign_in_identities')
    .selectAll()
    .where('provider', '=', provider)
    .where('subject_hash', '=', subjectHash)
    .executeTakeFirst()
}

export function signInIdentitiesOfOwner(db: Db, ownerId: number): Promise<SignInIdentityRow[]> {
  return db
    .selectFrom('sign_in_identities')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('created_at')
    .execute()
}

/** @returns whether there was one */
export async function deleteSignInIdentity(
  tx: Tx,
  ownerId: number,
  provider: string,
): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('sign_in_identities')
    .where('owner_id', '=', ownerId)
    .where('provider', '=', provider)
    .returning('provider')
    .execute()
  return deleted.length > 0
}

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
export async function deleteRecoveryCode(
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
export function deleteSignInLink(tx: Tx, hash: Uint8Array): Promise<SignInLinkRow | undefined> {
  return tx.db
    .deleteFrom('sign_in_links')
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
}
