import type { Db, Tx } from './database.ts'

/* Settings that all nodes share, by name. */

/** The epoch of the status feed (`statements/status-lists/epoch.ts`). A restore deletes it, so that the next start begins another. */
export const EPOCH_SETTING = 'status-epoch'

/** @returns the value, or null if the setting does not exist */
export async function readSetting(db: Db, name: string): Promise<string | null> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value ?? null
}

/** Inserts a setting unless it exists. @returns the value that is stored afterwards */
export async function insertSetting(tx: Tx, name: string, value: string): Promise<string> {
  await tx.db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return (await readSetting(tx.db, name)) as string
}

/** Inserts a setting or replaces its value. */
export async function writeSetting(tx: Tx, name: string, value: string): Promise<void> {
  await tx.db
    .insertInto('settings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
