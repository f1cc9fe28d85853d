import type { Db, Tx } from '../database/database.ts'
import type { LogJoinRow } from '../database/schema/log-rows.ts'

/** The questions since a time that nobody has answered. */
export function openJoins(db: Db, since: number): Promise<Pick<LogJoinRow, 'nonce'>[]> {
  return db
    .selectFrom('log_joins')
    .select('nonce')
    .where('at', '>', since)
    .where('answer', 'is', null)
    .execute()
}

/** The answer to a question; null: none yet. */
export async function joinOf(db: Db, nonce: string): Promise<string | null> {
  const row = await db
    .selectFrom('log_joins')
    .select('answer')
    .where('nonce', '=', nonce)
    .executeTakeFirst()
  return row?.answer ?? null
}

export async function insertJoin({ db }: Tx, row: LogJoinRow): Promise<void> {
  await db.insertInto('log_joins').values(row).execute()
}

/** Answers a question, unless another node has. */
export async function answerJoin({ db }: Tx, nonce: string, answer: string): Promise<void> {
  await db
    .updateTable('log_joins')
    .set({ answer })
    .where('nonce', '=', nonce)
    .where('answer', 'is', null)
    .execute()
}

/** Deletes the questions that are older. */
export async function deleteJoins({ db }: Tx, before: number): Promise<void> {
  await db.deleteFrom('log_joins').where('at', '<=', before).execute()
}
