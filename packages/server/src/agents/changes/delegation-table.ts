import { STATUS_VALUES } from '@countersign/protocol'
import { sql } from 'kysely'
import type { Db, StatusEntryRow, Tx } from '../../database/database.ts'
import type { DelegationRow } from '../../database/schema/status-rows.ts'
import { setEntry } from './status-entry-table.ts'

/** SQLite uses a partial index only if the query repeats the index's condition as a constant. */
const live = sql<boolean>`delegations.ended_at is null`

/** Ends a group: its entry becomes invalid, and is not replaced. @param at milliseconds since 1970 */
export async function endDelegationEntry(
  tx: Tx,
  { tail, list, idx }: Pick<StatusEntryRow, 'tail' | 'list' | 'idx'>,
  by: NonNullable<DelegationRow['ended_by']>,
  at: number,
): Promise<void> {
  await setEntry(tx, { list, idx, is_current: 0 }, STATUS_VALUES.invalid, at)
  await tx.db
    .updateTable('delegations')
    .set({ ended_at: at, ended_by: by })
    .where('tail', '=', tail)
    .where('list', '=', list)
    .where('idx', '=', idx)
    .where(live)
    .execute()
}

export async function insertDelegation(tx: Tx, row: DelegationRow): Promise<void> {
  await tx.db.insertInto('delegations').values(row).execute()
}

/** A group of an agent. */
export function delegationById(
  db: Db,
  tail: string,
  id: string,
): Promise<DelegationRow | undefined> {
  return db
    .selectFrom('delegations')
    .selectAll()
    .where('id', '=', id)
    .where('tail', '=', tail)
    .executeTakeFirst()
}

/** All groups of an agent that are stored, newest first. */
export function delegationsOf(db: Db, tail: string): Promise<DelegationRow[]> {
  return db
    .selectFrom('delegations')
    .selectAll()
    .where('tail', '=', tail)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

/** Those of them that have neither ended nor expired. @param now milliseconds since 1970 */
export function liveDelegations(db: Db, tail: string, now: number): Promise<DelegationRow[]> {
  return db
    .selectFrom('delegations')
    .selectAll()
    .where('tail', '=', tail)
    .where(live)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

export async function countDelegationsSince(db: Db, tail: string, since: number): Promise<number> {
  const { count } = await db
    .selectFrom('delegations')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('tail', '=', tail)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function deleteDelegation(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('delegations').where('id', '=', id).execute()
}

/** Deletes the groups of agents. Their certificates are invalid by then. */
export async function eraseDelegations(tx: Tx, tails: readonly string[]): Promise<void> {
  await tx.db.deleteFrom('delegations').where('tail', 'in', tails).execute()
}
