import { type Database, type JobRow, StorageFailure, type Tx } from '../database/database.ts'
import { countDueJobs, dueJobs, firstJobAt, postponeJob, takeJob } from './job-table.ts'
import { WorkLoop } from './work-loop.ts'

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

const JOBS_AT_ONCE = 100
const MOST_COUNTED = 1000
const FIRST_PAUSE_MS = 60_000
const LONGEST_PAUSE_MS = 3_600_000

/** Runs due jobs, one at a time. */
export class JobRunner {
  readonly #loop: WorkLoop

  constructor(deps: JobDeps) {
    this.#loop = new WorkLoop({
      poll: (stopping) => runDueJobs(deps, () => !stopping.aborted),
      onError: deps.onFailure,
    })
  }

  /** Runs all due jobs, unless that is in progress already. Does not wait. */
  run(): void {
    void this.#loop.run()
  }

  /** Starts no further job, and resolves when the one in progress has ended. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }
}

/**
 * Does what is due until nothing is. Each job and its end are one transaction, so that it is done once.
 * @throws StorageFailure where the database is to blame
 */
export async function runDueJobs(deps: JobDeps, goesOn: () => boolean = () => true): Promise<void> {
  for (;;) {
    const jobs = await dueJobs(deps.db.read, Object.keys(deps.handlers), deps.now(), JOBS_AT_ONCE)
    if (jobs.length === 0) return
    for (const job of jobs) {
      if (!goesOn()) return
      await runJob(deps, job)
    }
  }
}

/** How many jobs should have been done by now, of whatever kind, counted to a thousand. */
export function jobsDue({ db, now }: Pick<JobDeps, 'db' | 'now'>): Promise<number> {
  return countDueJobs(db.read, now(), MOST_COUNTED)
}

/** By how many seconds the job is late that has been due longest, put off or not. */
export async function jobsLate({ db, now }: Pick<JobDeps, 'db' | 'now'>): Promise<number> {
  const first = await firstJobAt(db.read)
  return first === null ? 0 : Math.max(0, (now() - first) / 1000)
}

/** A job that fails holds up no other. */
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
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** job.attempts, LONGEST_PAUSE_MS)
    await db.write((tx) => postponeJob(tx, job, now() + pause))
  }
}
