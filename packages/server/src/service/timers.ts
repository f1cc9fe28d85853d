import type { Logger } from 'pino'
import type { DueChecks } from '../channels/recheck-due.ts'
import { DueJobs } from '../core/jobs/run-jobs.ts'
import type { Parts } from './app-deps.ts'
import { JOB_HANDLERS } from './job-handlers.ts'

/** How often the database is asked whether another process has written: far below the promised second. */
const POLL_MS = 100
/** How often is asked what is due: jobs, and checks of channels. */
const WORK_MS = 1000

/** Follows what other processes write, and does what falls due. */
export function startTimers(
  {
    db,
    registry,
    now,
    checks,
  }: Pick<Parts, 'db' | 'registry' | 'now'> & { readonly checks: DueChecks },
  log: Logger,
  resources: AsyncDisposableStack,
): void {
  db.onElsewhere(() => void registry.catchUp())
  const poll = setInterval(() => {
    try {
      if (db.changedElsewhere() || registry.isBehind) void registry.catchUp()
    } catch (error) {
      log.error({ err: error }, 'the database cannot be watched')
    }
  }, POLL_MS)
  const onFailure = (error: unknown) => log.error({ err: error }, 'a job failed')
  const due = new DueJobs({ db, handlers: JOB_HANDLERS, now, onFailure })
  const work = setInterval(() => {
    due.run()
    void checks.run()
  }, WORK_MS)
  resources.defer(() => {
    clearInterval(poll)
    clearInterval(work)
    return due.stop()
  })
}
