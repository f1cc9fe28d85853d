import type { Db, JobRow, Tx } from './database.ts'

/** Puts a job in the place of the one with the same id, if there is one. */
export async function scheduleJob(tx: Tx, job: Omit<JobRow, 'attempts'>): Promise<void> {
  await tx.db
    .insertInto('jobs')
    .values({ ...job, attempts: 0 })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ run_at: job.run_at, subject: job.subject, attempts: 0 }),
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

/** Puts a job off that has failed, unless another is in its place by now. */
export async function postponeJob(tx: Tx, job: JobRow, runAt: number): Promise<void> {
  await tx.db
    .updateTable('jobs')
    .set({ run_at: runAt, attempts: job.attempts + 1 })
    .where('id', '=', job.id)
    .where('run_at', '=', job.run_at)
    .where('subject', '=', job.subject)
    .execute()
}

export async function cancelJob(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('jobs').where('id', '=', id).execute()
}

export function dueJobs(db: Db, now: number, limit: number): Promise<JobRow[]> {
  return db
    .selectFrom('jobs')
    .selectAll()
    .where('run_at', '<=', now)
    .orderBy('run_at')
    .limit(limit)
    .execute()
}
