import { statfs } from 'node:fs/promises'
import { type DueChecks, secondsLate } from '../channels/recheck-due.ts'
import type { Settings } from '../config/config.ts'
import { VERSION } from '../config/version.ts'
import { directoryOf } from '../core/database/open-database.ts'
import { jobsDue, jobsLate } from '../core/jobs/run-jobs.ts'
import type { Gauges } from '../core/metrics/gauges-type.ts'
import { WriteMetrics } from '../core/metrics/write-metrics.ts'
import type { Parts } from './app-deps.ts'

type Measured = Pick<Parts, 'db' | 'readModel' | 'overload' | 'limiter' | 'state' | 'now'> & {
  readonly checks: DueChecks
}

/** What `/metrics` reads of the service. Counts transactions from here on. */
export function gaugesOf(
  settings: Settings,
  { db, readModel, overload, limiter, state, now, checks }: Measured,
): Gauges {
  const writes = new WriteMetrics()
  db.onTransaction((end) => writes.observe(end))
  return {
    build: { version: VERSION, node: process.version, database: settings.database.kind },
    phase: () => state.phase,
    readModel: () => ({
      agents: readModel.agentsInMemory,
      position: readModel.position,
      secondsStale: readModel.staleness() / 1000,
      vouches: readModel.vouches,
    }),
    clock: () => now() / 1000,
    freeBytes: () => freeBytes(directoryOf(settings.database, settings.dataDir)),
    database: () => db.state(),
    connections: () => db.connections,
    writes,
    waitingWrites: () => db.waitingWrites,
    overload,
    limiter,
    jobsDue: () => jobsDue({ db, now }),
    jobsLate: () => jobsLate({ db, now }),
    channelChecks: () => checks.ended,
    channelChecksLate: () => secondsLate({ db, now }),
  }
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
