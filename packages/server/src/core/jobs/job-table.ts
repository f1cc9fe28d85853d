import type { Db, JobRow, Tx } from '../database/database.ts'

/** Puts a job in the place of the one with the same id, if there is one. */
export async function scheduleJob(
  tx: Tx,
  job: Omit<JobRow, 'attempts' | 'due_since'>,
): Promise<void> {
  const fresh = { attempts: 0, due_since: null }
  await tx.db
    .insertInto('jobs')
    .values({ ...job, ...fresh })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ run_at: job.run_at, subject: job.subject, ...fresh }),
    )
    .execute()
}

/** @returns whether the job was still there as it was read: of all who take it, one does */
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

/** Puts a job off that has failed, unless another is in its place by now. When it was due first is kept. */
export async function postponeJob(tx: Tx, job: JobRow, runAt: number): Promise<void> {
  // A node of the release before leaves it as it was where it puts another job in this place.
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

/** Jobs that are due, the longest due first. @param kinds of which alone: a newer release may have others */
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

/** How many jobs should have been done, those that were put off among them; counted up to a limit, so that it costs little. */
export async function countDueJobs(db: Db, now: number, limit: number): Promise<number> {
  const untried = db
    .selectFrom('jobs')
    .select('id')
    .where('run_at', '<=', now)
    .where((eb) => eb.or([eb('due_since', 'is', null), eb('attempts', '=', 0)]))
  // Two counts, each by an index of its own.
  const counts = [untried, failedJobs(db).select('id')].map((jobs) =>
    db
      .selectFrom(jobs.limit(limit).as('due'))
      .select((eb) => eb.fn.countAll().as('count'))
      .executeTakeFirstOrThrow(),
  )
  const [first = 0, second = 0] = (await Promise.all(counts)).map(({ count }) => Number(count))
  return Math.min(first + second, limit)
}

/** Since when the first job has been due, however often it was put off, or will be; null where there is none. */
export async function firstJobAt(db: Db): Promise<number | null> {
  const next = db.selectFrom('jobs').select('run_at as at').orderBy('run_at').limit(1)
  const failed = failedJobs(db).select('due_since as at').orderBy('due_since').limit(1)
  const rows = [...(await next.execute()), ...(await failed.execute())]
  const moments = rows.flatMap(({ at }) => at ?? [])
  return moments.length === 0 ? null : Math.min(...moments)
}

function failedJobs(db: Db) {
  return db.selectFrom('jobs').where('due_since', 'is not', null).where('attempts', '>', 0)
}
