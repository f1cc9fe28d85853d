import { type Database, type JobRow, StorageFailure, type Tx } from '../database/database.ts'
import { countDueJobs, dueJobs, firstJobAt, postponeJob, takeJob } from './job-table.ts'

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

/** Does what falls due, one round at a time. */
export class DueJobs {
  readonly #deps: JobDeps
  #round: Promise<void> | null = null
  #stopped = false

  constructor(deps: JobDeps) {
    this.#deps = deps
  }

  /** Begins a round, unless one is under way. */
  run(): void {
    if (this.#stopped) return
    this.#round ??= runDueJobs(this.#deps, () => !this.#stopped)
      .catch(this.#deps.onFailure)
      .finally(() => {
        this.#round = null
      })
  }

  /** Resolves when the round that is under way has ended, after the job that it is at. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#round
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
