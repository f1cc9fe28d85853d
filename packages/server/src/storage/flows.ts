import type { Db, FlowRow, Tx } from './database.ts'

export async function insertFlow(tx: Tx, row: FlowRow): Promise<void> {
  await tx.db.insertInto('flows').values(row).execute()
}

/** Takes a flow out: of all who come with it, one gets it. */
export function takeFlow(tx: Tx, hash: Uint8Array): Promise<FlowRow | undefined> {
  return tx.db.deleteFrom('flows').where('hash', '=', hash).returningAll().executeTakeFirst()
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
