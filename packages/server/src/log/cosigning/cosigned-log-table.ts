import type { TreeHead } from '@countersign/protocol'
import type { Db, Tx } from '../../database/database.ts'
import type { WitnessedLogRow, WitnessKeyRow } from '../../database/schema/log-rows.ts'

/** The current key of the witness. @returns undefined before the first start as a witness */
export function currentKey(db: Db): Promise<WitnessKeyRow | undefined> {
  return db
    .selectFrom('witness_keys')
    .selectAll()
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Inserts a key unless there is one with its number. */
export async function insertKey({ db }: Tx, row: WitnessKeyRow): Promise<void> {
  await db
    .insertInto('witness_keys')
    .values(row)
    .onConflict((conflict) => conflict.column('number').doNothing())
    .execute()
}

/** Stops a key from being used on any node. */
export async function haltKey({ db }: Tx, number: number, at: number): Promise<void> {
  await db
    .updateTable('witness_keys')
    .set({ halted_at: at })
    .where('number', '=', number)
    .where('halted_at', 'is', null)
    .execute()
}

/** What was cosigned last of each log. */
export function witnessedLogs(db: Db): Promise<WitnessedLogRow[]> {
  return db.selectFrom('witnessed_logs').selectAll().orderBy('origin').execute()
}

/** What was cosigned last of a log. */
export function witnessedLog(db: Db, origin: string): Promise<WitnessedLogRow | undefined> {
  return db.selectFrom('witnessed_logs').selectAll().where('origin', '=', origin).executeTakeFirst()
}

/**
 * Stores a checkpoint, if what was cosigned last is still the tree that it was compared with.
 * @param expected null: nothing was cosigned
 * @returns false, without a change, if another tree was cosigned meanwhile
 */
export async function compareAndSwap(
  { db }: Tx,
  expected: TreeHead | null,
  next: WitnessedLogRow,
): Promise<boolean> {
  const { origin, ...columns } = next
  const changed =
    expected === null
      ? await db
          .insertInto('witnessed_logs')
          .values(next)
          .onConflict((conflict) => conflict.column('origin').doNothing())
          .returning('origin')
          .executeTakeFirst()
      : await db
          .updateTable('witnessed_logs')
          .set(columns)
          .where('origin', '=', origin)
          .where('size', '=', expected.size)
          .where('root', '=', expected.root)
          .returning('origin')
          .executeTakeFirst()
  return changed !== undefined
}

/** Stores what a key that is replaced has cosigned, unless a larger tree is stored. */
export async function keepTree(
  { db }: Tx,
  { origin, size, root }: Pick<WitnessedLogRow, 'origin' | 'size' | 'root'>,
  at: number,
): Promise<void> {
  await db
    .insertInto('witnessed_logs')
    .values({ origin, size, root, checkpoint: null, cosigned_at: at })
    .onConflict((conflict) =>
      conflict
        .column('origin')
        .doUpdateSet({ size, root, cosigned_at: at })
        .where('witnessed_logs.size', '<=', size),
    )
    .execute()
}

/** Forgets the cosignatures of a key that is replaced; what it has cosigned stays. */
export async function deleteCosignatures({ db }: Tx): Promise<void> {
  await db.updateTable('witnessed_logs').set({ checkpoint: null }).execute()
}
