import type { Db, SessionRow, Tx } from '../core/database/database.ts'

export async function insertSession(tx: Tx, row: SessionRow): Promise<void> {
  await tx.db.insertInto('sessions').values(row).execute()
}

export function sessionByHash(db: Db, hash: Uint8Array): Promise<SessionRow | undefined> {
  return db.selectFrom('sessions').selectAll().where('hash', '=', hash).executeTakeFirst()
}

/** An owner's sessions, the one used last first. */
export function sessionsOfOwner(db: Db, ownerId: number): Promise<SessionRow[]> {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .orderBy('last_seen_at', 'desc')
    .execute()
}

export async function touchSession(tx: Tx, hash: Uint8Array, at: number): Promise<void> {
  await tx.db.updateTable('sessions').set({ last_seen_at: at }).where('hash', '=', hash).execute()
}

export async function deleteSession(tx: Tx, hash: Uint8Array): Promise<void> {
  await tx.db.deleteFrom('sessions').where('hash', '=', hash).execute()
}

/** @returns whether the owner had it */
export async function deleteSessionById(tx: Tx, ownerId: number, id: string): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('sessions')
    .where('owner_id', '=', ownerId)
    .where('id', '=', id)
    .returning('id')
    .execute()
  return deleted.length > 0
}

/** Ends every session of an owner, but for one. */
export async function deleteSessionsOfOwner(
  tx: Tx,
  ownerId: number,
  except: string | null,
): Promise<void> {
  let query = tx.db.deleteFrom('sessions').where('owner_id', '=', ownerId)
  if (except !== null) query = query.where('id', '!=', except)
  await query.execute()
}

/** Clears away what can no longer be used. */
export async function deleteEndedSessions(tx: Tx, now: number, idleBefore: number): Promise<void> {
  await tx.db
    .deleteFrom('sessions')
    .where((or) => or.or([or('expires_at', '<=', now), or('last_seen_at', '<=', idleBefore)]))
    .execute()
}
