import { DELETED_OWNER_ID } from '../../accounts/owner-table.ts'
import type { Db, Tx } from '../../database/database.ts'

/** The tables with an `owner_id` whose rows are deleted with the account. */
const OWNER_TABLES = [
  'passkeys',
  'recovery_codes',
  'sign_in_identities',
  'sign_in_links',
  'sessions',
  'api_keys',
  'flows',
  'claim_tokens',
  'identity_verifications',
  'email_outbox',
  'email_preferences',
  'email_addresses',
  'notifications',
  'account_activity',
  'approvals',
  'mandates',
] as const

/** Deletes an owner's sign-in methods, sessions, API keys, flows, claim tokens, verifications, notifications, activities, approvals, mandates and e-mail addresses. */
export async function deleteOwnerRecords(tx: Tx, ownerId: number): Promise<void> {
  for (const table of OWNER_TABLES) {
    await tx.db.deleteFrom(table).where('owner_id', '=', ownerId).execute()
  }
}

/** Deletes the jobs whose ids start with a prefix. */
export async function deleteJobs(tx: Tx, prefix: string): Promise<void> {
  await tx.db
    .deleteFrom('jobs')
    .where('id', '>=', prefix)
    .where('id', '<', `${prefix}\uffff`)
    .execute()
}

/** Deletes the pictures of agents. */
export async function deleteAvatars(tx: Tx, tails: readonly string[]): Promise<void> {
  await tx.db.deleteFrom('avatars').where('tail', 'in', tails).execute()
}

/** Keeps the usernames that an owner gave up out of use, without saying whose they were. */
export async function anonymizeReleasedUsernames(tx: Tx, ownerId: number): Promise<void> {
  await tx.db
    .updateTable('released_usernames')
    .set({ owner_id: DELETED_OWNER_ID })
    .where('owner_id', '=', ownerId)
    .execute()
}

/** Reads what is stored about an owner besides their agents. Reads no secrets or hashes of secrets. */
export async function readOwnerRecords(db: Db, ownerId: number) {
  const [passkeys, codes, sessions, identities, links, flows, verifications, tokens, usernames] =
    await Promise.all([
      db
        .selectFrom('passkeys')
        .select(['credential_id', 'name', 'created_at', 'last_used_at', 'backed_up'])
        .where('owner_id', '=', ownerId)
        .orderBy('created_at')
        .execute(),
      db
        .selectFrom('recovery_codes')
        .select(['created_at'])
        .where('owner_id', '=', ownerId)
        .execute(),
      db
        .selectFrom('sessions')
        .select([
          'id',
          'method',
          'passkey_id',
          'browser',
          'signed_in_at',
          'last_seen_at',
          'expires_at',
        ])
        .where('owner_id', '=', ownerId)
        .orderBy('signed_in_at')
        .execute(),
      db
        .selectFrom('sign_in_identities')
        .select(['provider', 'created_at'])
        .where('owner_id', '=', ownerId)
        .orderBy('created_at')
        .execute(),
      db
        .selectFrom('sign_in_links')
        .select(['expires_at'])
        .where('owner_id', '=', ownerId)
        .orderBy('expires_at')
        .execute(),
      db
        .selectFrom('flows')
        .select(['kind', 'provider', 'expires_at'])
        .where('owner_id', '=', ownerId)
        .orderBy('expires_at')
        .execute(),
      db
        .selectFrom('identity_verifications')
        .select(['provider', 'assurance', 'country', 'verified_at', 'expires_at', 'published_name'])
        .where('owner_id', '=', ownerId)
        .orderBy('verified_at')
        .execute(),
      db
        .selectFrom('claim_tokens')
        .select(['created_at', 'expires_at', 'used_at', 'superseded_at'])
        .where('owner_id', '=', ownerId)
        .orderBy('created_at')
        .execute(),
      db
        .selectFrom('released_usernames')
        .select(['available_at'])
        .where('owner_id', '=', ownerId)
        .orderBy('available_at')
        .execute(),
    ])
  return { passkeys, codes, sessions, identities, links, flows, verifications, tokens, usernames }
}

/** Whether an owner has, or once had, an identity verification. */
export async function wasEverVerified(db: Db, ownerId: number): Promise<boolean> {
  const row = await db
    .selectFrom('events')
    .select('seq')
    .where('owner_id', '=', ownerId)
    .where('tail', 'is', null)
    .where('type', '=', 'owner.identity_verified')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
