import type { Db, FlowRow, SessionRow, Tx } from '../../database/database.ts'

export async function insertSession(tx: Tx, row: SessionRow): Promise<void> {
  await tx.db.insertInto('sessions').values(row).execute()
}

export function sessionByHash(db: Db, hash: Uint8Array): Promise<SessionRow | undefined> {
  return db.selectFrom('sessions').selectAll().where('hash', '=', hash).executeTakeFirst()
}

/** An owner's sessions, most recently used first. */
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

/** @returns whether the owner had this session */
export async function deleteSessionById(tx: Tx, ownerId: number, id: string): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('sessions')
    .where('owner_id', '=', ownerId)
    .where('id', '=', id)
    .returning('id')
    .execute()
  return deleted.length > 0
}

/**
 * Deletes an owner's sessions.
 * @param except the id of the session to keep, or null
 * @returns how many there were
 */
export async function deleteSessionsOfOwner(
  tx: Tx,
  ownerId: number,
  except: string | null,
): Promise<number> {
  let query = tx.db.deleteFrom('sessions').where('owner_id', '=', ownerId)
  if (except !== null) query = query.where('id', '!=', except)
  return (await query.returning('id').execute()).length
}

/** Deletes a person's sessions that the identity provider of an organisation started. */
export async function deleteLimitedSessions(
  tx: Tx,
  personId: number,
  orgId: number,
): Promise<void> {
  await tx.db
    .deleteFrom('sessions')
    .where('owner_id', '=', personId)
    .where('limited_to', '=', orgId)
    .execute()
}

/** Deletes all sessions that the identity provider of an organisation started. */
export async function deleteSessionsLimitedTo(tx: Tx, orgId: number): Promise<void> {
  await tx.db.deleteFrom('sessions').where('limited_to', '=', orgId).execute()
}

/**
 * Deletes the sessions that a passkey started, and those of the same owner that an older release has started with a passkey
 * that it did not record.
 */
export async function deleteSessionsOfPasskey(
  tx: Tx,
  ownerId: number,
  credentialId: string,
): Promise<void> {
  await tx.db
    .deleteFrom('sessions')
    .where('owner_id', '=', ownerId)
    .where('method', '=', 'passkey')
    .where((eb) => eb.or([eb('passkey_id', '=', credentialId), eb('passkey_id', 'is', null)]))
    .execute()
}

/**
 * Deletes sessions that have expired or were idle for too long.
 * @param now milliseconds since the Unix epoch
 * @param idleBefore sessions last seen at or before this time are deleted
 */
export async function deleteEndedSessions(tx: Tx, now: number, idleBefore: number): Promise<void> {
  await tx.db
    .deleteFrom('sessions')
    .where((or) => or.or([or('expires_at', '<=', now), or('last_seen_at', '<=', idleBefore)]))
    .execute()
}

export async function insertFlow(tx: Tx, row: FlowRow): Promise<void> {
  await tx.db.insertInto('flows').values(row).execute()
}

/** Remembers until `expiresAt` that a flow which is not stored has been used. @returns false if it had been used before */
export async function markFlowUsed(tx: Tx, hash: Uint8Array, expiresAt: number): Promise<boolean> {
  const rows = await tx.db
    .insertInto('flows')
    .values({
      hash,
      kind: 'used',
      owner_id: null,
      provider: null,
      reference: null,
      state: '{}',
      expires_at: expiresAt,
    })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .returning('hash')
    .execute()
  return rows.length > 0
}

/** Deletes a flow and returns it. Of concurrent callers, one gets the row, the others undefined. */
export function deleteFlow(tx: Tx, hash: Uint8Array): Promise<FlowRow | undefined> {
  return tx.db.deleteFrom('flows').where('hash', '=', hash).returningAll().executeTakeFirst()
}

/**
 * Replaces a flow by a marker that its outcome is recorded, for the browser that returns later.
 * @param kind the marker
 * @returns true for one of all concurrent callers; false if the flow is already marked, or gone
 */
export async function markFlowDecided(tx: Tx, hash: Uint8Array, kind: string): Promise<boolean> {
  const rows = await tx.db
    .updateTable('flows')
    .set({ kind, reference: null, state: '{}' })
    .where('hash', '=', hash)
    .where('kind', '!=', kind)
    .returning('kind')
    .execute()
  return rows.length > 0
}

export function flowByHash(db: Db, hash: Uint8Array): Promise<FlowRow | undefined> {
  return db.selectFrom('flows').selectAll().where('hash', '=', hash).executeTakeFirst()
}

/** The flow that a provider's webhook names. */
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

export async function deleteExpiredFlows(tx: Tx, now: number): Promise<void> {
  await tx.db.deleteFrom('flows').where('expires_at', '<=', now).execute()
}
