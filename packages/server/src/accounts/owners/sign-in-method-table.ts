import type {
  Db,
  PasskeyRow,
  RecoveryCodeRow,
  SignInIdentityRow,
  SignInLinkRow,
  Tx,
} from '../../database/database.ts'
import { ignoreUniqueViolation } from '../../database/ignore-unique-violation.ts'

/** @returns false if the credential is already registered */
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

/** An owner's passkeys, oldest first. */
export function passkeysOfOwner(db: Db, ownerId: number): Promise<PasskeyRow[]> {
  return db
    .selectFrom('passkeys')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('created_at')
    .execute()
}

/** The changes after one authentication with a passkey. */
export interface PasskeyUse {
  readonly credentialId: string
  /** The stored signature counter that the authentication was verified against. */
  readonly counterBefore: number
  readonly counter: number
  readonly backedUp: boolean
  readonly at: number
}

/**
 * Stores the new signature counter, unless the stored one has changed since it was read. So of two concurrent uses of
 * a passkey and its copy, one succeeds.
 * @returns false if the passkey is gone or was used in the meantime
 */
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

/** @returns the passkey after the change, or undefined if the owner has none with this id */
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

/** @returns whether the owner had this passkey */
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

/** @returns false if the provider account is linked to another owner, or this owner has already linked one at the provider */
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

/** @returns whether the owner had linked an account at the provider */
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

/** Deletes all links to accounts at a provider. */
export async function deleteSignInIdentitiesOf(tx: Tx, provider: string): Promise<void> {
  await tx.db.deleteFrom('sign_in_identities').where('provider', '=', provider).execute()
}

/** Deletes an owner's recovery codes and inserts new ones. */
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

/** Deletes a recovery code. Of concurrent callers, one gets true. */
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

/** The recovery codes that an owner has not used. */
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

/** Deletes an owner's sign-in link and inserts a new one. */
export async function replaceSignInLink(tx: Tx, row: SignInLinkRow): Promise<void> {
  await tx.db.deleteFrom('sign_in_links').where('owner_id', '=', row.owner_id).execute()
  await tx.db.insertInto('sign_in_links').values(row).execute()
}

/** Deletes a sign-in link and returns it. Of concurrent callers, one gets the row, the others undefined. */
export function deleteSignInLink(tx: Tx, hash: Uint8Array): Promise<SignInLinkRow | undefined> {
  return tx.db
    .deleteFrom('sign_in_links')
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
}
