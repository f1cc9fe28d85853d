import type { Db, FlowRow, Tx } from '../core/database/database.ts'

export async function insertFlow(tx: Tx, row: FlowRow): Promise<void> {
  await tx.db.insertInto('flows').values(row).execute()
}

/** Takes a flow out: of all who come with it, one gets it. */
export function takeFlow(tx: Tx, hash: Uint8Array): Promise<FlowRow | undefined> {
  return tx.db.deleteFrom('flows').where('hash', '=', hash).returningAll().executeTakeFirst()
}

/**
 * Leaves of a flow only that it is settled, for a browser that comes back later.
 * @returns false where it is settled already, or gone: of all who settle it, one gets true
 */
export async function settleFlow(tx: Tx, hash: Uint8Array, settled: string): Promise<boolean> {
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
