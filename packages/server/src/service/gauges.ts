import { statfs } from 'node:fs/promises'
import type { DueEmails } from '../accounts/notifications/send-due-emails.ts'
import { describeQueue } from '../accounts/notifications/send-due-emails.ts'
import type { Settings } from '../base/config.ts'
import { VERSION } from '../base/version.ts'
import { type DueChecks, secondsLate } from '../channels/recheck-due.ts'
import { jobsDue, jobsLate } from '../database/jobs/run-jobs.ts'
import { directoryOf } from '../database/open-database.ts'
import type { Gauges } from '../http/metrics/service-gauges.ts'
import { WriteMetrics } from '../http/metrics/write-metrics.ts'
import { countDue } from '../log/log-table.ts'
import type { ServiceParts } from './app-deps.ts'

type MeasuredParts = Pick<
  ServiceParts,
  | 'db'
  | 'readModel'
  | 'status'
  | 'loadShedder'
  | 'rateLimiter'
  | 'state'
  | 'now'
  | 'transparencyLog'
  | 'logWitnesses'
> & {
  readonly checks: DueChecks
  readonly emails: DueEmails | null
}

/** Builds the measurements for `/metrics`. Transactions are counted from this call on. */
export function gaugesOf(settings: Settings, parts: MeasuredParts): Gauges {
  const { db, readModel, status, loadShedder, rateLimiter, state, now, checks, emails } = parts
  const { transparencyLog, logWitnesses } = parts
  const writes = new WriteMetrics()
  db.onTransaction((end) => writes.observe(end))
  return {
    build: { version: VERSION, node: process.version, database: settings.database.kind },
    phase: () => state.phase,
    readModel: () => ({
      agents: readModel.agentsInMemory,
      position: readModel.position,
      secondsStale: readModel.staleness() / 1000,
      isFresh: readModel.isFresh,
    }),
    clock: () => now() / 1000,
    freeBytes: () => freeBytes(directoryOf(settings.database, settings.dataDir)),
    database: () => db.state(),
    connections: () => db.connections,
    writes,
    waitingWrites: () => db.waitingWrites,
    loadShedder,
    rateLimiter,
    jobsDue: () => jobsDue({ db, now }),
    jobsLate: () => jobsLate({ db, now }),
    channelChecks: () => checks.ended,
    channelChecksLate: () => secondsLate({ db, now }),
    statusAgeSeconds: () => status.feed.ageSeconds,
    feedSubscribers: () => status.feed.subscribers,
    emails:
      emails === null
        ? null
        : {
            outcomes: () => emails.outcomes,
            queued: async () => (await describeQueue({ db, now })).count,
            oldest: async () => (await describeQueue({ db, now })).age,
          },
    transparencyLog: {
      size: () => transparencyLog.served?.size ?? 0,
      waiting: () => countDue(db.read, now()),
      isHalted: () => transparencyLog.problem !== null,
      witnesses: logWitnesses && {
        reports: () => logWitnesses.reports,
        waitingSeconds: () => Math.max(0, now() - (logWitnesses.waitingSince ?? now())) / 1000,
      },
    },
  }
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory)
  return bavail * bsize
}
