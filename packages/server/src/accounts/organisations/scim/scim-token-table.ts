import type { Db, Tx } from '../../../database/database.ts'
import type { ScimTokenRow } from '../../../database/schema/organisation-rows.ts'

export async function insertScimToken(tx: Tx, row: ScimTokenRow): Promise<void> {
  await tx.db.insertInto('scim_tokens').values(row).execute()
}

export function scimTokenByHash(db: Db, hash: Uint8Array): Promise<ScimTokenRow | undefined> {
  return db.selectFrom('scim_tokens').selectAll().where('hash', '=', hash).executeTakeFirst()
}

/** The tokens of an organisation that have not expired, newest first. */
export function liveScimTokens(db: Db, orgId: number, now: number): Promise<ScimTokenRow[]> {
  return db
    .selectFrom('scim_tokens')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

export async function touchScimToken(tx: Tx, hash: Uint8Array, at: number): Promise<void> {
  await tx.db
    .updateTable('scim_tokens')
    .set({ last_used_at: at })
    .where('hash', '=', hash)
    .execute()
}

/** @returns false if the organisation has no such token */
export async function deleteScimToken(tx: Tx, orgId: number, id: string): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('scim_tokens')
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .returning('id')
    .execute()
  return deleted.length > 0
}

export async function deleteExpiredScimTokens(tx: Tx, orgId: number, now: number): Promise<void> {
  await tx.db
    .deleteFrom('scim_tokens')
    .where('org_id', '=', orgId)
    .where('expires_at', '<=', now)
    .execute()
}
