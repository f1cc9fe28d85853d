import type { ApiKeyRow, Db, Tx } from '../../database/database.ts'

export async function insertApiKey(tx: Tx, row: ApiKeyRow): Promise<void> {
  await tx.db.insertInto('api_keys').values(row).execute()
}

export function apiKeyByHash(db: Db, hash: Uint8Array): Promise<ApiKeyRow | undefined> {
  return db.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst()
}

/** An owner's keys, newest first, expired ones included. */
export function apiKeysOfOwner(db: Db, ownerId: number): Promise<ApiKeyRow[]> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

export function apiKeyOfOwner(db: Db, ownerId: number, id: string): Promise<ApiKeyRow | undefined> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Deletes the keys that a member created. @returns how many there were */
export async function deleteApiKeysOfMember(tx: Tx, membership: string): Promise<number> {
  const deleted = await tx.db
    .deleteFrom('api_keys')
    .where('created_by', '=', membership)
    .returning('id')
    .execute()
  return deleted.length
}

export async function touchApiKey(tx: Tx, hash: Uint8Array, at: number): Promise<void> {
  await tx.db.updateTable('api_keys').set({ last_used_at: at }).where('hash', '=', hash).execute()
}

/** @returns the deleted key; undefined if the owner has no such key */
export function deleteApiKey(tx: Tx, ownerId: number, id: string): Promise<ApiKeyRow | undefined> {
  return tx.db
    .deleteFrom('api_keys')
    .where('owner_id', '=', ownerId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}
