import type { Db, JobRow, Tx } from '../database.ts'
import { prepared } from '../prepared.ts'

const insertOrReplace = prepared<Omit<JobRow, 'attempts' | 'due_since'>, object>((db, param) => {
  const fresh = { run_at: param('run_at'), subject: param('subject'), attempts: 0, due_since: null }
  return db
    .insertInto('jobs')
    .values({ id: param('id'), kind: param('kind'), ...fresh })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(fresh))
})

/** Inserts a job, or replaces the one with the same ID. */
export async function scheduleJob(
  tx: Tx,
  job: Omit<JobRow, 'attempts' | 'due_since'>,
): Promise<void> {
  await insertOrReplace(tx.db, job)
}

/** Inserts a job, or gives the one with the same ID another subject: it stays due since then, and its present run does not end it. */
export async function renewJob(tx: Tx, job: Omit<JobRow, 'attempts' | 'due_since'>): Promise<void> {
  await tx.db
    .insertInto('jobs')
    .values({ ...job, attempts: 0, due_since: null })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ subject: job.subject }))
    .execute()
}

/** The jobs whose ids start with a prefix. */
export function jobsByPrefix(db: Db, prefix: string): Promise<JobRow[]> {
  return db
    .selectFrom('jobs')
    .selectAll()
    .where('id', '>=', prefix)
    .where('id', '<', `${prefix}\uffff`)
    .execute()
}

/** Makes the jobs due whose ids start with a prefix. */
export async function hastenJobs(tx: Tx, prefix: string, runAt: number): Promise<void> {
  await tx.db
    .updateTable('jobs')
    .set({ run_at: runAt })
    .where('id', '>=', prefix)
    .where('id', '<', `${prefix}\uffff`)
    .execute()
}

export function jobById(db: Db, id: string): Promise<JobRow | undefined> {
  return db.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Deletes a job in order to run it. @returns false if another node has taken or replaced it since it was read */
export async function takeJob(tx: Tx, job: JobRow): Promise<boolean> {
  const taken = await tx.db
    .deleteFrom('jobs')
    .where('id', '=', job.id)
    .where('run_at', '=', job.run_at)
    .where('subject', '=', job.subject)
    .returning('id')
    .execute()
  return taken.length > 0
}

/** Postpones a failed job, unless it has been replaced since. Preserves when it was first due. */
export async function postponeJob(tx: Tx, job: JobRow, runAt: number): Promise<void> {
  // Nodes before migration 0007 do not reset `due_since` when they replace a job, so it counts only after a failure.
  const dueSince = job.attempts === 0 ? job.run_at : (job.due_since ?? job.run_at)
  await tx.db
    .updateTable('jobs')
    .set({ run_at: runAt, attempts: job.attempts + 1, due_since: dueSince })
    .where('id', '=', job.id)
    .where('run_at', '=', job.run_at)
    .where('subject', '=', job.subject)
    .execute()
}

export async function cancelJob(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('jobs').where('id', '=', id).execute()
}

/** Jobs that are due, the most overdue first. @param kinds only these: nodes of a newer release may add others */
export function dueJobs(
  db: Db,
  kinds: readonly string[],
  now: number,
  limit: number,
): Promise<JobRow[]> {
  return db
    .selectFrom('jobs')
    .selectAll()
    .where('run_at', '<=', now)
    .where('kind', 'in', kinds)
    .orderBy('run_at')
    .limit(limit)
    .execute()
}

/** The number of overdue jobs, including postponed ones. Counts up to `limit`, which bounds the cost. */
export async function countDueJobs(db: Db, now: number, limit: number): Promise<number> {
  const untried = db
    .selectFrom('jobs')
    .select('id')
    .where('run_at', '<=', now)
    .where((eb) => eb.or([eb('due_since', 'is', null), eb('attempts', '=', 0)]))
  // Two counts, so that each uses its own index.
  const counts = [untried, failedJobs(db).select('id')].map((jobs) =>
    db
      .selectFrom(jobs.limit(limit).as('due'))
      .select((eb) => eb.fn.countAll().as('count'))
      .executeTakeFirstOrThrow(),
  )
  const [first = 0, second = 0] = (await Promise.all(counts)).map(({ count }) => Number(count))
  return Math.min(first + second, limit)
}

/** When the most overdue job was first due, or when the next one will be. Null if there is no job. */
export async function earliestDueAt(db: Db): Promise<number | null> {
  const next = db.selectFrom('jobs').select('run_at as at').orderBy('run_at').limit(1)
  const failed = failedJobs(db).select('due_since as at').orderBy('due_since').limit(1)
  const rows = [...(await next.execute()), ...(await failed.execute())]
  const moments = rows.flatMap(({ at }) => at ?? [])
  return moments.length === 0 ? null : Math.min(...moments)
}

function failedJobs(db: Db) {
  return db.selectFrom('jobs').where('due_since', 'is not', null).where('attempts', '>', 0)
}
