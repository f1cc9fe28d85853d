import type { Db, IssuerKeyReportRow, IssuerKeyRow, Tx } from '../../database/database.ts'

/** All issuer keys that were ever published, oldest first. */
export function issuerKeyRows(db: Db): Promise<IssuerKeyRow[]> {
  return db.selectFrom('issuer_keys').selectAll().orderBy('published_at').orderBy('id').execute()
}

export async function insertIssuerKey(tx: Tx, row: IssuerKeyRow): Promise<void> {
  await tx.db.insertInto('issuer_keys').values(row).execute()
}

export async function updateIssuerKey(
  tx: Tx,
  id: string,
  values: Partial<Omit<IssuerKeyRow, 'id' | 'jwks'>>,
): Promise<void> {
  await tx.db.updateTable('issuer_keys').set(values).where('id', '=', id).execute()
}

/** Ends every key that is still in the key set. */
export async function markAllCompromised(tx: Tx, now: number): Promise<void> {
  await tx.db
    .updateTable('issuer_keys')
    .set({ state: 'compromised', ended_at: now, remove_at: null })
    .where('state', 'in', ['published', 'active', 'retired'])
    .execute()
}

/** What the nodes have reported about a published key. */
export function issuerKeyReports(db: Db, keyId: string): Promise<IssuerKeyReportRow[]> {
  return db
    .selectFrom('issuer_key_reports')
    .selectAll()
    .where('key_id', '=', keyId)
    .orderBy('node')
    .execute()
}

/** Inserts a node's report, or replaces its previous one. */
export async function writeIssuerKeyReport(tx: Tx, row: IssuerKeyReportRow): Promise<void> {
  const { held_since, seen_at } = row
  await tx.db
    .insertInto('issuer_key_reports')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['key_id', 'node']).doUpdateSet({ held_since, seen_at }),
    )
    .execute()
}

/** Reports are of use until the key is active. */
export async function deleteIssuerKeyReports(tx: Tx, keyId: string): Promise<void> {
  await tx.db.deleteFrom('issuer_key_reports').where('key_id', '=', keyId).execute()
}
