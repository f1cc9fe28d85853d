import type { Db, Tx } from './database.ts'

export async function readSetting(db: Db, name: string): Promise<string | null> {
  const row = await db
    .selectFrom('facts')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value ?? null
}

/** Notes a fact where there is none of the name. @returns the one that is there afterwards */
export async function insertSetting(tx: Tx, name: string, value: string): Promise<string> {
  await tx.db
    .insertInto('facts')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return (await readSetting(tx.db, name)) as string
}

/** Notes a fact in the place of whatever was there. */
export async function writeSetting(tx: Tx, name: string, value: string): Promise<void> {
  await tx.db
    .insertInto('facts')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
