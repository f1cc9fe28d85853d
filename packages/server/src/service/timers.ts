import type { Logger } from 'pino'
import type { DueChecks } from '../channels/recheck-due.ts'
import { JobRunner } from '../core/jobs/run-jobs.ts'
import type { Parts } from './app-deps.ts'
import { JOB_HANDLERS } from './job-handlers.ts'

/** How often the database is asked whether another process has written: far below the promised second. */
const POLL_MS = 100
/** How often is asked what is due: jobs, and checks of channels. */
const WORK_MS = 1000

/** Runs something again and again. @returns what ends it */
export type Every = (milliseconds: number, run: () => void) => () => void

/** How the service feels time pass. Tests bring their own, and wait for nothing. */
export interface Timing {
  readonly every: Every
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number
}

export const REAL_TIMING: Timing = {
  every: (milliseconds, run) => {
    const timer = setInterval(run, milliseconds)
    return () => clearInterval(timer)
  },
  elapsed: () => performance.now(),
}

/** Follows what other processes write, and does what falls due. */
export function startTimers(
  {
    db,
    readModel,
    now,
    checks,
    every,
  }: Pick<Parts, 'db' | 'readModel' | 'now'> & {
    readonly checks: DueChecks
    readonly every: Every
  },
  log: Logger,
  resources: AsyncDisposableStack,
): void {
  db.onExternalWrite(() => void readModel.catchUp())
  const endPoll = every(POLL_MS, () => {
    try {
      if (db.mayHaveExternalWrites() || readModel.isBehind) void readModel.catchUp()
    } catch (error) {
      log.error({ err: error }, 'the database cannot be watched')
    }
  })
  const onFailure = (error: unknown) => log.error({ err: error }, 'a job failed')
  const due = new JobRunner({ db, handlers: JOB_HANDLERS, now, onFailure })
  const endWork = every(WORK_MS, () => {
    due.run()
    void checks.run()
  })
  resources.defer(() => {
    endPoll()
    endWork()
    return due.stop()
  })
}
