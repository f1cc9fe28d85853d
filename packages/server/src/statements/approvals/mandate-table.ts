import type { SelectQueryBuilder } from 'kysely'
import type { Db, Tables, Tx } from '../../database/database.ts'
import type { MandateRow } from '../../database/schema/approval-rows.ts'
import { CURRENT_AGENT, type CurrentAgent } from './approval-table.ts'

/** A mandate with what decides whether it still counts. */
export interface CurrentMandate extends MandateRow, CurrentAgent {
  readonly agent_status_at: number
  readonly agent_owner_at: number | null
}

type Joined = SelectQueryBuilder<
  Tables & { mandate: MandateRow; agent: Tables['agents']; owner: Tables['owners'] },
  'mandate' | 'agent' | 'owner',
  CurrentMandate
>

function current(db: Db): Joined {
  return db
    .selectFrom('mandates as mandate')
    .innerJoin('agents as agent', 'agent.tail', 'mandate.tail')
    .innerJoin('owners as owner', 'owner.id', 'mandate.owner_id')
    .selectAll('mandate')
    .select(CURRENT_AGENT)
    .select([
      'agent.status_changed_at as agent_status_at',
      'agent.owner_changed_at as agent_owner_at',
    ]) as unknown as Joined
}

/** A mandate by its id. */
export function mandateById(db: Db, id: string): Promise<CurrentMandate | undefined> {
  return current(db).where('mandate.id', '=', id).executeTakeFirst()
}

/**
 * The mandates of an owner, newest first.
 * @param before only those with a lower `seq`
 */
export function mandatesOfOwner(
  db: Db,
  ownerId: number,
  before: number,
  limit: number,
): Promise<CurrentMandate[]> {
  return current(db)
    .where('mandate.owner_id', '=', ownerId)
    .where('mandate.seq', '<', before)
    .orderBy('mandate.seq', 'desc')
    .limit(limit)
    .execute()
}

/** Those of an agent that nobody has ended and that have not expired, oldest first. */
export function unendedMandates(db: Db, tail: string, now: number): Promise<CurrentMandate[]> {
  return current(db)
    .where('mandate.tail', '=', tail)
    .where('mandate.ended_at', 'is', null)
    .where('mandate.expires_at', '>', now)
    .orderBy('mandate.created_at')
    .orderBy('mandate.id')
    .execute()
}

/** What was signed, by the ids of an owner's mandates. */
export async function statementsOfOwner(
  db: Db,
  ownerId: number,
): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('mandates')
    .select(['id', 'statement'])
    .where('owner_id', '=', ownerId)
    .execute()
  return new Map(rows.map(({ id, statement }) => [id, statement]))
}

/** @returns false, without a change, if there is one with this id, which means with this statement */
export async function insertMandate(tx: Tx, row: Omit<MandateRow, 'seq'>): Promise<boolean> {
  const [newest] = await mandatesOfOwner(tx.db, row.owner_id, Number.MAX_SAFE_INTEGER, 1)
  const inserted = await tx.db
    .insertInto('mandates')
    // Write transactions run one after another.
    .values({ ...row, seq: (newest?.seq ?? 0) + 1 })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .execute()
  return inserted.length > 0
}

/** Ends a mandate, unless it was ended before. */
export async function endMandate(tx: Tx, id: string, at: number): Promise<void> {
  await tx.db
    .updateTable('mandates')
    .set({ ended_at: at })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute()
}

/** Ends all mandates of an agent. */
export async function endMandatesOfAgent(tx: Tx, tail: string, at: number): Promise<void> {
  await tx.db
    .updateTable('mandates')
    .set({ ended_at: at })
    .where('tail', '=', tail)
    .where('ended_at', 'is', null)
    .execute()
}

/** Deletes mandates that expired before a time. The approvals that refer to them are older. */
export async function deleteOldMandates(tx: Tx, expiredBefore: number): Promise<void> {
  await tx.db.deleteFrom('mandates').where('expires_at', '<', expiredBefore).execute()
}
