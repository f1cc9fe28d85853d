import type { Logger } from 'pino'
import type { AgentReadModel } from '../agents/read-model/agent-read-model.ts'
import { withTimeout } from '../base/timeout.ts'
import type { Database } from '../database/database.ts'
import { WorkLoop } from '../database/jobs/work-loop.ts'
import type { PartTimer } from '../http/part.ts'

/** How often to check whether another process has written. A change must be visible within a second. */
const POLL_MS = 100
/** How long a stop waits for a run that ignores that it is to stop. */
const STOP_MS = 10_000

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

interface TimerDeps {
  readonly db: Pick<Database, 'onExternalWrite' | 'mayHaveExternalWrites'>
  readonly readModel: Pick<AgentReadModel, 'catchUp' | 'isBehind'>
  readonly log: Logger
  readonly every: StartInterval
}

/**
 * Starts to apply other processes' writes to the read model, and the timers.
 * @param resources stops them
 */
export function startTimers(
  { db, readModel, log, every }: TimerDeps,
  timers: readonly PartTimer[],
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
  const running = timers.map((timer) => {
    const onError = (err: unknown) => log.error({ err }, timer.failure)
    const loop = new WorkLoop({ poll: (stopping) => timer.run(stopping), onError })
    const stopInterval = every(timer.everyMs, () => void loop.run())
    return { stopInterval, stop: () => withTimeout(loop.stop(), STOP_MS).catch(onError) }
  })
  resources.defer(async () => {
    stopPolling()
    for (const { stopInterval } of running) stopInterval()
    await Promise.all(running.map(({ stop }) => stop()))
  })
}
