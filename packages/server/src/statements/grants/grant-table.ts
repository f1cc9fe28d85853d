import { MAX_AUTHORIZATION_SERVERS } from '@countersign/protocol'
import type { Db, Tx } from '../../database/database.ts'
import type { GrantIssuerRow, GrantUseRow } from '../../database/schema/grant-rows.ts'

export async function insertIssuer(tx: Tx, row: GrantIssuerRow): Promise<void> {
  await tx.db.insertInto('grant_issuers').values(row).execute()
}

/** A grant issuer, deleted ones included. */
export function issuerById(db: Db, id: string): Promise<GrantIssuerRow | undefined> {
  return db.selectFrom('grant_issuers').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The grant issuers of an owner that are not deleted, newest first. */
export function issuersOf(db: Db, ownerId: number): Promise<GrantIssuerRow[]> {
  return db
    .selectFrom('grant_issuers')
    .selectAll()
    .where('owner_id', '=', ownerId)
    .where('deleted_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

/** Deletes a grant issuer, without its row: its agents get no more grants. */
export async function deleteIssuer(tx: Tx, id: string, at: number): Promise<void> {
  await tx.db.deleteFrom('grant_assignments').where('issuer_id', '=', id).execute()
  await tx.db
    .updateTable('grant_issuers')
    .set({ deleted_at: at, name: '' })
    .where('id', '=', id)
    .execute()
}

/** How many agents are assigned to each of some issuers. */
export async function countAssigned(
  db: Db,
  issuers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  // PostgreSQL rejects `in ()`.
  if (issuers.length === 0) return new Map()
  const rows = await db
    .selectFrom('grant_assignments')
    .select('issuer_id')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('issuer_id', 'in', issuers)
    .groupBy('issuer_id')
    .execute()
  return new Map(rows.map(({ issuer_id, count }) => [issuer_id, Number(count)]))
}

/** The tails of the agents that are assigned to an issuer. */
export async function assignedTails(db: Db, issuerId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('grant_assignments')
    .select('tail')
    .where('issuer_id', '=', issuerId)
    .orderBy('tail')
    .execute()
  return rows.map(({ tail }) => tail)
}

/** The issuer that signs the grants of an agent. */
export async function issuerOfAgent(db: Db, tail: string): Promise<GrantIssuerRow | undefined> {
  return db
    .selectFrom('grant_assignments')
    .innerJoin('grant_issuers', 'grant_issuers.id', 'grant_assignments.issuer_id')
    .selectAll('grant_issuers')
    .where('grant_assignments.tail', '=', tail)
    .where('grant_issuers.deleted_at', 'is', null)
    .executeTakeFirst()
}

/** Assigns an agent to an issuer, or to none. */
export async function writeAssignment(
  tx: Tx,
  tail: string,
  issuerId: string | null,
  at: number,
): Promise<void> {
  await tx.db.deleteFrom('grant_assignments').where('tail', '=', tail).execute()
  if (issuerId === null) return
  await tx.db
    .insertInto('grant_assignments')
    .values({ tail, issuer_id: issuerId, assigned_at: at })
    .execute()
}

/** The authorization servers of an agent, the last used first. */
export function usesOf(db: Db, tail: string): Promise<GrantUseRow[]> {
  return db
    .selectFrom('grant_uses')
    .selectAll()
    .where('tail', '=', tail)
    .orderBy('last_at', 'desc')
    .orderBy('audience')
    .execute()
}

/** Counts a grant. Forgets the authorization servers that were not used for the longest time. @returns whether the server is new */
export async function recordUse(
  tx: Tx,
  tail: string,
  audience: string,
  at: number,
): Promise<boolean> {
  const before = await usesOf(tx.db, tail)
  if (before.some((each) => each.audience === audience)) {
    await tx.db
      .updateTable('grant_uses')
      .set((eb) => ({ last_at: at, grants: eb('grants', '+', 1) }))
      .where('tail', '=', tail)
      .where('audience', '=', audience)
      .execute()
    return false
  }
  const forgotten = before.slice(MAX_AUTHORIZATION_SERVERS - 1).map((each) => each.audience)
  if (forgotten.length > 0) {
    await tx.db
      .deleteFrom('grant_uses')
      .where('tail', '=', tail)
      .where('audience', 'in', forgotten)
      .execute()
  }
  await tx.db
    .insertInto('grant_uses')
    .values({ tail, audience, first_at: at, last_at: at, grants: 1 })
    .execute()
  return true
}

/** Deletes what is stored about the grants of agents. */
export async function eraseGrantsOfAgents(tx: Tx, tails: readonly string[]): Promise<void> {
  await tx.db.deleteFrom('grant_assignments').where('tail', 'in', tails).execute()
  await tx.db.deleteFrom('grant_uses').where('tail', 'in', tails).execute()
}

/** Erases the grant issuers of an owner. Their ids stay, whose key sets are empty; equal times would tell which belong together. */
export async function eraseIssuers(tx: Tx, ownerId: number): Promise<void> {
  await tx.db
    .updateTable('grant_issuers')
    .set({ owner_id: null, name: '', created_at: 0, deleted_at: 0 })
    .where('owner_id', '=', ownerId)
    .execute()
}
