import type { Db, IdentityVerificationRow, Tx } from '../../database/database.ts'
import { ignoreUniqueViolation } from '../../database/ignore-unique-violation.ts'

/**
 * Inserts a verification, or replaces the owner's previous one from the same provider.
 * @returns false if another owner has a verification of the same subject. Of concurrent callers, one succeeds.
 */
export async function upsertVerification(tx: Tx, row: IdentityVerificationRow): Promise<boolean> {
  return ignoreUniqueViolation(tx, ['identity_verifications_subject'], () => upsert(tx, row))
}

async function upsert(tx: Tx, row: IdentityVerificationRow): Promise<void> {
  await tx.db
    .insertInto('identity_verifications')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['owner_id', 'provider']).doUpdateSet((eb) => ({
        subject_hash: eb.ref('excluded.subject_hash'),
        pepper_id: eb.ref('excluded.pepper_id'),
        assurance: eb.ref('excluded.assurance'),
        country: eb.ref('excluded.country'),
        verified_at: eb.ref('excluded.verified_at'),
        expires_at: eb.ref('excluded.expires_at'),
        published_name: eb.ref('excluded.published_name'),
      })),
    )
    .execute()
}

/** @returns whether the owner had one */
export async function deleteVerification(
  tx: Tx,
  ownerId: number,
  provider: string,
): Promise<boolean> {
  const deleted = await tx.db
    .deleteFrom('identity_verifications')
    .where('owner_id', '=', ownerId)
    .where('provider', '=', provider)
    .returning('provider')
    .execute()
  return deleted.length > 0
}

/** @returns whether there was one */
export async function deletePublishedName(
  tx: Tx,
  ownerId: number,
  provider: string,
): Promise<boolean> {
  const updated = await tx.db
    .updateTable('identity_verifications')
    .set({ published_name: null })
    .where('owner_id', '=', ownerId)
    .where('provider', '=', provider)
    .where('published_name', 'is not', null)
    .returning('provider')
    .execute()
  return updated.length > 0
}

/** The ids of the peppers that the stored subject hashes were made with. Scans the whole table. */
export async function peppersInUse(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('identity_verifications')
    .select('pepper_id')
    .distinct()
    .execute()
  return rows.map((row) => row.pepper_id)
}
