import type { Db, SignInIdentityRow, Tx } from '../core/database/database.ts'
import { ignoreUniqueViolation } from '../core/database/ignore-unique-violation.ts'

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
