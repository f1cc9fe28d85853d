import { sql } from 'kysely'
import type { Tx } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { LogQueueRow } from '../../database/schema/log-rows.ts'

const insert = prepared<LogQueueRow, object>((db, param) =>
  db.insertInto('log_queue').values({
    seq: param('seq'),
    tail: param('tail'),
    owner_id: param('owner_id'),
    type: param('type'),
    entry: param('entry'),
    evidence: param('evidence'),
    not_before: param('not_before'),
  }),
)

/** Queues a change for the log, in the transaction of the change. */
export async function insertQueued(tx: Tx, row: LogQueueRow): Promise<void> {
  await insert(tx.db, row)
}

/** Like `insertQueued` for many rows in one statement (PostgreSQL). */
export async function insertQueuedRows({ db }: Tx, rows: readonly LogQueueRow[]): Promise<void> {
  if (rows.length === 0) return
  const column = <K extends keyof LogQueueRow>(name: K) => rows.map((row) => row[name])
  await sql`insert into log_queue (seq, tail, owner_id, type, entry, evidence, not_before)
    select * from unnest(${column('seq')}::bigint[], ${column('tail')}::text[],
      ${column('owner_id')}::bigint[], ${column('type')}::text[], ${column('entry')}::text[],
      ${column('evidence')}::text[], ${column('not_before')}::bigint[])`.execute(db)
}

const takeGrade = prepared<{ tail: string }, { not_before: number }>((db, param) =>
  db
    .deleteFrom('log_queue')
    .where('tail', '=', param('tail'))
    .where('type', '=', 'grade')
    .where(sql.ref('type'), '<>', sql.lit('claimed'))
    .returning('not_before'),
)

/** Removes the grade entry of an agent that waits. @returns when it was due; null if none waits */
export async function takeQueuedGrade(tx: Tx, tail: string): Promise<number | null> {
  return (await takeGrade(tx.db, { tail }))[0]?.not_before ?? null
}
