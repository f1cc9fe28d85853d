import { TRANSFER_STATES, type TransferState } from '@countersign/protocol'
import type { Db, Tx } from '../../database/database.ts'
import { ignoreUniqueViolation } from '../../database/ignore-unique-violation.ts'
import { prepared } from '../../database/prepared.ts'
import type { TransferRow } from '../../database/schema/organisation-rows.ts'

const OPEN: readonly TransferState[] = ['offered', 'accepted']

export async function insertTransfer(tx: Tx, row: TransferRow): Promise<void> {
  await tx.db.insertInto('transfers').values(row).execute()
}

/** Adds the agents of an open transfer. @returns false, without a change, if one of them is in another open transfer */
export function insertAgents(tx: Tx, id: string, tails: readonly string[]): Promise<boolean> {
  const rows = tails.map((tail) => ({ transfer_id: id, tail, is_open: 1 }) as const)
  return ignoreUniqueViolation(tx, ['transfer_agents_live'], () =>
    tx.db.insertInto('transfer_agents').values(rows).execute(),
  )
}

export function transferById(db: Db, id: string): Promise<TransferRow | undefined> {
  return db.selectFrom('transfers').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The tails of the agents of a transfer. */
export async function tailsOf(db: Db, id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('transfer_agents')
    .select('tail')
    .where('transfer_id', '=', id)
    .orderBy('tail')
    .execute()
  return rows.map(({ tail }) => tail)
}

const selectLive = prepared<{ tail: string }, { tail: string }>((db, param) =>
  db
    .selectFrom('transfer_agents')
    .select('tail')
    .where('tail', '=', param('tail'))
    .where((eb) => eb('is_open', '=', eb.lit(1))),
)

/** Whether an agent is in a transfer that is offered or accepted. */
export async function hasOpenTransfer(db: Db, tail: string): Promise<boolean> {
  return (await selectLive(db, { tail })).length > 0
}

/**
 * Accepts a transfer.
 * @returns false, without a change, if it is not offered any more
 */
export async function setAccepted(
  tx: Tx,
  id: string,
  columns: Pick<TransferRow, 'accepted_by' | 'effective_at'> & { readonly accepted_at: number },
): Promise<boolean> {
  const updated = await tx.db
    .updateTable('transfers')
    .set({ ...columns, state: 'accepted' })
    .where('id', '=', id)
    .where('state', '=', 'offered')
    .where('expires_at', '>', columns.accepted_at)
    .returning('id')
    .execute()
  return updated.length > 0
}

/**
 * Ends an open transfer. Its agents can be in another one.
 * @returns false, without a change, if it has ended already
 */
export async function setEnded(
  tx: Tx,
  id: string,
  columns: Pick<TransferRow, 'state' | 'failure' | 'ended_at'>,
): Promise<boolean> {
  const updated = await tx.db
    .updateTable('transfers')
    .set(columns)
    .where('id', '=', id)
    .where('state', 'in', OPEN)
    .returning('id')
    .execute()
  if (updated.length === 0) return false
  await tx.db
    .updateTable('transfer_agents')
    .set({ is_open: 0 })
    .where('transfer_id', '=', id)
    .execute()
  return true
}

/** The open transfers of an owner, sent and received. */
export function openTransfersOf(db: Db, ownerId: number): Promise<TransferRow[]> {
  return db
    .selectFrom('transfers')
    .selectAll()
    .where((eb) => eb.or([eb('from_owner', '=', ownerId), eb('to_owner', '=', ownerId)]))
    .where('state', 'in', OPEN)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

/** Those of an owner that have ended, newest first. */
export function endedTransfersOf(db: Db, ownerId: number, limit: number): Promise<TransferRow[]> {
  return db
    .selectFrom('transfers')
    .selectAll()
    .where((eb) => eb.or([eb('from_owner', '=', ownerId), eb('to_owner', '=', ownerId)]))
    .where('state', 'not in', OPEN)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** The open transfers that a member has started. */
export function openTransfersStartedBy(
  db: Db,
  organisation: number,
  membership: string,
): Promise<TransferRow[]> {
  return db
    .selectFrom('transfers')
    .selectAll()
    .where('from_owner', '=', organisation)
    .where('started_by', '=', membership)
    .where('state', 'in', OPEN)
    .execute()
}

/** How many transfers have ever reached each state: rows are never deleted. */
export async function countTransfersByState(db: Db): Promise<Map<TransferState, number>> {
  const rows = await db
    .selectFrom('transfers')
    .select((eb) => [
      'state',
      eb.fn.countAll().as('count'),
      eb.fn.count('accepted_at').as('accepted'),
    ])
    .groupBy('state')
    .execute()
  const counts = new Map(TRANSFER_STATES.map((state) => [state, 0]))
  const add = (state: TransferState, count: unknown) =>
    counts.set(state, (counts.get(state) ?? 0) + Number(count))
  for (const { state, count, accepted } of rows) {
    add('offered', count)
    add('accepted', accepted)
    if (!OPEN.includes(state)) add(state, count)
  }
  return counts
}

/** A transfer that an owner has sent and that took effect, and of which the agents are still stored. */
export function oneSentBy(db: Db, ownerId: number): Promise<TransferRow | undefined> {
  return db
    .selectFrom('transfers')
    .selectAll()
    .where('from_owner', '=', ownerId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('transfer_agents')
          .select('tail')
          .whereRef('transfer_agents.transfer_id', '=', 'transfers.id'),
      ),
    )
    .limit(1)
    .executeTakeFirst()
}

/** Forgets which agents a transfer moved. */
export async function deleteAgentsOf(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('transfer_agents').where('transfer_id', '=', id).execute()
}

/** Replaces an owner in all transfers, and forgets which agents they moved. */
export async function replaceOwner(tx: Tx, ownerId: number, by: number): Promise<void> {
  const theirs = tx.db
    .selectFrom('transfers')
    .select('id')
    .where((eb) => eb.or([eb('from_owner', '=', ownerId), eb('to_owner', '=', ownerId)]))
  await tx.db.deleteFrom('transfer_agents').where('transfer_id', 'in', theirs).execute()
  for (const column of ['from_owner', 'to_owner'] as const) {
    await tx.db
      .updateTable('transfers')
      .set({ [column]: by })
      .where(column, '=', ownerId)
      .execute()
  }
}
