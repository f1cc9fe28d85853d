import type { Database } from '../../database/database.ts'
import { jobsDue, jobsLate } from '../../database/jobs/run-jobs.ts'
import type { MetricRegistrar } from './metric-registrar.ts'
import type { WriteMetrics } from './write-metrics.ts'

/** The values of the label `for` of `countersign_commits_wait`. */
const WAITS = ['disk', 'standby', 'unknown'] as const

/** Registers the metrics of the database: reachability, durability of commits, standbys, connections. */
export function describeDatabase(
  metrics: MetricRegistrar,
  db: Pick<Database, 'state' | 'connections'>,
): void {
  metrics.gauge('countersign_database_reachable', 'Whether the primary responds', async () =>
    Number((await db.state()).role !== 'unreachable'),
  )
  metrics.labelledGauge(
    'countersign_commits_wait',
    'Where an acknowledged write is stored',
    ['for'],
    async () => {
      const { waitFor } = (await db.state()).commits
      return WAITS.map((each) => [{ for: each }, Number(each === waitFor)] as const)
    },
  )
  metrics.gauge(
    'countersign_commits_satisfied',
    'Whether commits can complete; NaN if the database user lacks pg_monitor',
    async () => {
      const { satisfied } = (await db.state()).commits
      return satisfied === null ? Number.NaN : Number(satisfied)
    },
  )
  metrics.gauge(
    'countersign_standbys_streaming',
    'Standbys that follow the primary now',
    async () => (await db.state()).standbys.filter(({ state }) => state === 'streaming').length,
  )
  describeLags(metrics, db)
  metrics.labelledGauge(
    'countersign_database_connections',
    'Connections for reading, by what they do; `waiting` are reads without one',
    ['state'],
    () => Object.entries(db.connections ?? {}).map(([state, count]) => [{ state }, count] as const),
  )
}

function describeLags(metrics: MetricRegistrar, db: Pick<Database, 'state'>): void {
  const lags = async (lag: 'lagBytes' | 'lagMs', unit: number) =>
    (await db.state()).standbys.map(
      (each) =>
        [{ standby: each.name, sync: each.sync }, (each[lag] ?? Number.NaN) / unit] as const,
    )
  metrics.labelledGauge(
    'countersign_standby_lag_bytes',
    'Bytes that a standby has not replayed',
    ['standby', 'sync'],
    () => lags('lagBytes', 1),
  )
  metrics.labelledGauge(
    'countersign_standby_lag_seconds',
    'Replay delay of a standby; NaN while idle',
    ['standby', 'sync'],
    () => lags('lagMs', 1000),
  )
}

/** Registers the metrics of writes and of the transactions that carry them. */
export function describeWrites(
  metrics: MetricRegistrar,
  writes: WriteMetrics,
  db: Pick<Database, 'waitingWrites'>,
): void {
  metrics.gauge('countersign_writes_waiting', 'Pending writes', () => db.waitingWrites)
  metrics.labelledCounter(
    'countersign_writes_total',
    'Writes, by outcome',
    () => writes.writes.counts,
  )
  metrics.labelledCounter(
    'countersign_transactions_total',
    'Write transactions, by outcome; each carries all pending writes',
    () => writes.transactions.counts,
  )
}

/** Registers the metrics of jobs of all kinds. */
export function describeJobs(
  metrics: MetricRegistrar,
  deps: { readonly db: Database; readonly now: () => number },
): void {
  metrics.gauge('countersign_jobs_due', 'Overdue jobs', () => jobsDue(deps))
  metrics.gauge('countersign_jobs_late_seconds', 'Delay of the most overdue job', () =>
    jobsLate(deps),
  )
}
