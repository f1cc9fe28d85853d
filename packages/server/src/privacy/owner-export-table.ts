import type { Db } from '../core/database/database.ts'

/** What is held on an owner beside their agents, in several tables: no secret and no hash of one is read. */
export async function recordsOfOwner(db: Db, ownerId: number) {
  const [passkeys, codes, sessions, identities, links, flows, verifications, tokens] =
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
        .select(['id', 'method', 'browser', 'signed_in_at', 'last_seen_at', 'expires_at'])
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
        .select(['provider', 'assurance', 'country', 'verified_at', 'expires_at'])
        .where('owner_id', '=', ownerId)
        .orderBy('verified_at')
        .execute(),
      db
        .selectFrom('claim_tokens')
        .select(['created_at', 'expires_at', 'used_at', 'superseded_at'])
        .where('owner_id', '=', ownerId)
        .orderBy('created_at')
        .execute(),
    ])
  return { passkeys, codes, sessions, identities, links, flows, verifications, tokens }
}
