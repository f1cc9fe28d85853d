import { type Database, type JobRow, StorageFailure, type Tx } from '../database.ts'
import { countDueJobs, dueJobs, earliestDueAt, postponeJob, takeJob } from './job-table.ts'

/** Runs one job in the transaction that also deletes it. `at`: now, in milliseconds. */
type JobHandler = (tx: Tx, job: JobRow, at: number) => Promise<void>

/** Handlers by kind of job. Other kinds belong to newer nodes of a rolling upgrade and are left alone. */
export type JobHandlers = Readonly<Record<string, JobHandler>>

export interface JobDeps {
  readonly db: Database
  readonly handlers: JobHandlers
  readonly now: () => number
  /** Called with the error of a job that failed and will be retried. */
  readonly onFailure: (error: unknown) => void
}

const PAGE_SIZE = 100
const MAX_COUNT = 1000
const FIRST_RETRY_MS = 60_000
const MAX_RETRY_MS = 3_600_000

/**
 * Runs jobs until none is due. Each job runs in the transaction that deletes it, so it takes effect exactly once.
 * @param shouldContinue asked before each job
 * @throws StorageFailure if the database fails. Failures of a job itself go to `onFailure`
 */
export async function runDueJobs(
  deps: JobDeps,
  shouldContinue: () => boolean = () => true,
): Promise<void> {
  for (;;) {
    const jobs = await dueJobs(deps.db.read, Object.keys(deps.handlers), deps.now(), PAGE_SIZE)
    if (jobs.length === 0) return
    for (const job of jobs) {
      if (!shouldContinue()) return
      await runJob(deps, job)
    }
  }
}

/** The number of overdue jobs of any kind, at most 1,000. */
export function jobsDue({ db, now }: Pick<JobDeps, 'db' | 'now'>): Promise<number> {
  return countDueJobs(db.read, now(), MAX_COUNT)
}

/** How many seconds the most overdue job is late, counted from when it was first due. */
export async function jobsLate({ db, now }: Pick<JobDeps, 'db' | 'now'>): Promise<number> {
  const first = await earliestDueAt(db.read)
  return first === null ? 0 : Math.max(0, (now() - first) / 1000)
}

/** A job that fails is retried later and does not stop the others. */
async function runJob({ db, handlers, now, onFailure }: JobDeps, job: JobRow): Promise<void> {
  const handle = handlers[job.kind]
  if (handle === undefined) return
  try {
    await db.write(async (tx) => {
      if (await takeJob(tx, job)) await handle(tx, job, now())
    })
  } catch (error) {
    if (error instanceof StorageFailure) throw error
    onFailure(error)
    const pause = Math.min(FIRST_RETRY_MS * 2 ** job.attempts, MAX_RETRY_MS)
    await db.write((tx) => postponeJob(tx, job, now() + pause))
  }
}
