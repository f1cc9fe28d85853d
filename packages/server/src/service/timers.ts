import type { Logger } from 'pino'
import type { DueEmails } from '../accounts/notifications/send-due-emails.ts'
import type { ExpiryWarnings } from '../accounts/notifications/warn-of-expiry.ts'
import { fillThumbprints } from '../agents/keys/key-thumbprints.ts'
import type { DueChecks } from '../channels/recheck-due.ts'
import { JobRunner } from '../database/jobs/run-jobs.ts'
import { WorkLoop } from '../database/jobs/work-loop.ts'
import type { Witness } from '../log/cosigning/witness.ts'
import type { TransparencyLog } from '../log/transparency-log.ts'
import type { LogWitnesses } from '../log/witnesses/log-witnesses.ts'
import { EntryRepair } from '../statements/status-lists/repair-entries.ts'
import { HEAD_INTERVAL_MS } from '../statements/status-lists/status-feed.ts'
import type { DueDeliveries } from '../webhooks/due-deliveries.ts'
import type { ServiceParts } from './app-deps.ts'
import { JOB_HANDLERS } from './job-handlers.ts'

/** How often to check whether another process has written. A change must be visible within a second. */
const POLL_MS = 100
/** How often to look for due jobs and channel checks. */
const WORK_MS = 1000
/** How often to look for changes to log: a checkpoint is at most a second old while there is something new. */
const LOG_MS = 500
/** How often to look for what is due at the witnesses of the log. */
const WITNESS_MS = 1000

/** Calls `run` at an interval, like `setInterval`. @returns stops it */
export type StartInterval = (milliseconds: number, run: () => void) => () => void

/** Intervals and the monotonic clock. Tests pass their own, so that they need not wait. */
export interface Timing {
  readonly every: StartInterval
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

/** Starts to apply other processes' writes to the read model, and to run what is due: warnings, jobs, channel checks, e-mails and webhooks. */
export function startTimers(
  {
    db,
    readModel,
    issuerKeys,
    status,
    now,
    checks,
    emails,
    deliveries,
    warnings,
    transparencyLog,
    logWitnesses,
    witness,
    every,
  }: Pick<ServiceParts, 'db' | 'readModel' | 'issuerKeys' | 'status' | 'now'> & {
    readonly checks: DueChecks
    /** Null if the service sends no e-mail. */
    readonly emails: DueEmails | null
    readonly deliveries: DueDeliveries
    readonly warnings: ExpiryWarnings
    readonly transparencyLog: TransparencyLog
    /** Null if the log has none. */
    readonly logWitnesses: LogWitnesses | null
    /** Null if the service witnesses no logs. */
    readonly witness: Witness | null
    readonly every: StartInterval
  },
  log: Logger,
  resources: AsyncDisposableStack,
): void {
  db.onExternalWrite(() => void readModel.catchUp())
  const stopPolling = every(POLL_MS, () => {
    try {
      if (db.mayHaveExternalWrites() || readModel.isBehind) void readModel.catchUp()
    } catch (error) {
      log.error({ err: error }, 'the database cannot be watched')
    }
  })
  const onFailure = (error: unknown) => log.error({ err: error }, 'a job failed')
  const due = new JobRunner({ db, handlers: JOB_HANDLERS, now, onFailure })
  const thumbprints = new WorkLoop({
    poll: (stopping) => fillThumbprints(db, stopping),
    onError: (error) => log.error({ err: error }, 'thumbprints of keys cannot be stored'),
  })
  const rotation = new WorkLoop({
    poll: () => issuerKeys.refresh(),
    onError: (error) => log.error({ err: error }, 'the state of the issuer keys cannot be read'),
  })
  const entryRepair = new EntryRepair({ db, now })
  const repairs = new WorkLoop({
    poll: (stopping) => entryRepair.run(stopping),
    onError: (error) => log.error({ err: error }, 'entries of status lists cannot be repaired'),
  })
  void repairs.run()
  const stopWork = every(WORK_MS, () => {
    // First, so that a warning precedes what it warns of.
    warnings.run()
    due.run()
    void rotation.run()
    void thumbprints.run()
    void repairs.run()
    void checks.run()
    void emails?.run()
    void deliveries.run()
  })
  const stopHeads = every(HEAD_INTERVAL_MS, () => void status.feed.tick())
  const logging = new WorkLoop({
    poll: (stopping) => transparencyLog.run(stopping),
    onError: (error) => log.error({ err: error }, 'the transparency log cannot go on'),
  })
  const cosigning = new WorkLoop({
    poll: async () => witness?.run(),
    onError: (error) => log.error({ err: error }, 'the state of the witness cannot be read'),
  })
  const stopLogging = every(LOG_MS, () => {
    void logging.run()
    if (witness !== null) void cosigning.run()
  })
  // Apart from the log: it goes on while a witness takes its time.
  const witnessing = new WorkLoop({
    poll: async (stopping) => logWitnesses?.run(transparencyLog, stopping),
    onError: (error) => log.error({ err: error }, 'the witnesses cannot be asked'),
  })
  const stopWitnessing =
    logWitnesses === null ? () => undefined : every(WITNESS_MS, () => void witnessing.run())
  resources.defer(async () => {
    stopPolling()
    stopWork()
    stopHeads()
    stopLogging()
    stopWitnessing()
    await Promise.all([
      due.stop(),
      thumbprints.stop(),
      repairs.stop(),
      rotation.stop(),
      warnings.stop(),
      logging.stop(),
      witnessing.stop(),
      cosigning.stop(),
    ])
  })
}
