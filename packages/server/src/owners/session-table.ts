import type { Db, FlowRow, SessionRow, Tx } from '../core/database/database.ts'

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

export async function insertFlow(tx: Tx, row: FlowRow): Promise<void> {
  await tx.db.insertInto('flows').values(row).execute()
}

/** Takes a flow out: of all who come with it, one gets it. */
export function deleteFlow(tx: Tx, hash: Uint8Array): Promise<FlowRow | undefined> {
  return tx.db.deleteFrom('flows').where('hash', '=', hash).returningAll().executeTakeFirst()
}

/**
 * Leaves of a flow only that it is settled, for a browser that comes back later.
 * @returns false where it is settled already, or gone: of all who settle it, one gets true
 */
export async function markFlowDecided(tx: Tx, hash: Uint8Array, settled: string): Promise<boolean> {
  const rows = await tx.db
    .updateTable('flows')
    .set({ kind: settled, reference: null, state: '{}' })
    .where('hash', '=', hash)
    .where('kind', '!=', settled)
    .returning('kind')
    .execute()
  return rows.length > 0
}

/** Looks at a flow without taking it. */
export function flowByHash(db: Db, hash: Uint8Array): Promise<FlowRow | undefined> {
  return db.selectFrom('flows').selectAll().where('hash', '=', hash).executeTakeFirst()
}

/** The flow that a provider's webhook speaks of. */
export function flowByReference(
  db: Db,
  provider: string,
  reference: string,
): Promise<FlowRow | undefined> {
  return db
    .selectFrom('flows')
    .selectAll()
    .where('provider', '=', provider)
    .where('reference', '=', reference)
    .executeTakeFirst()
}

/** Clears away what was begun and never completed. */
export async function deleteExpiredFlows(tx: Tx, now: number): Promise<void> {
  await tx.db.deleteFrom('flows').where('expires_at', '<=', now).execute()
}
