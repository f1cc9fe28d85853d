import type { Db, Tx } from '../../database/database.ts'

/** What applies to an organisation that has set nothing else. */
const DEFAULT_DAYS = 14

/** After how many days agents of an organisation without a responsible person are suspended. @returns null: never */
export async function suspendAfterDays(db: Db, orgId: number): Promise<number | null> {
  const row = await db
    .selectFrom('organisation_settings')
    .select('suspend_after_days')
    .where('org_id', '=', orgId)
    .executeTakeFirst()
  return row === undefined ? DEFAULT_DAYS : row.suspend_after_days
}

export async function setSuspendAfterDays(
  tx: Tx,
  org_id: number,
  suspend_after_days: number | null,
): Promise<void> {
  await tx.db
    .insertInto('organisation_settings')
    .values({ org_id, suspend_after_days })
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet({ suspend_after_days }))
    .execute()
}
