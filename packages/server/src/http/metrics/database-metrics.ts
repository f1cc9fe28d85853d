import type { MetricRegistrar } from './metric-registrar.ts'
import type { Gauges } from './service-gauges.ts'

/** The values of the label `for` of `countersign_commits_wait`. */
const WAITS = ['disk', 'standby', 'unknown'] as const

/** Registers the metrics of the database: reachability, durability of commits, standbys, connections. */
export function describeDatabase(
  metrics: MetricRegistrar,
  { database, connections }: Pick<Gauges, 'database' | 'connections'>,
): void {
  metrics.gauge('countersign_database_reachable', 'Whether the primary responds', async () =>
    Number((await database()).role !== 'unreachable'),
  )
  metrics.labelledGauge(
    'countersign_commits_wait',
    'Where an acknowledged write is stored',
    ['for'],
    async () => {
      const { waitFor } = (await database()).commits
      return WAITS.map((each) => [{ for: each }, Number(each === waitFor)] as const)
    },
  )
  metrics.gauge(
    'countersign_commits_satisfied',
    'Whether commits can complete; NaN if the database user lacks pg_monitor',
    async () => {
      const { satisfied } = (await database()).commits
      return satisfied === null ? Number.NaN : Number(satisfied)
    },
  )
  metrics.gauge(
    'countersign_standbys_streaming',
    'Standbys that follow the primary now',
    async () => (await database()).standbys.filter(({ state }) => state === 'streaming').length,
  )
  describeLags(metrics, database)
  metrics.labelledGauge(
    'countersign_database_connections',
    'Connections for reading, by what they do; `waiting` are reads without one',
    ['state'],
    () => Object.entries(connections() ?? {}).map(([state, count]) => [{ state }, count] as const),
  )
}

function describeLags(metrics: MetricRegistrar, database: Gauges['database']): void {
  const lags = async (lag: 'lagBytes' | 'lagMs', unit: number) =>
    (await database()).standbys.map(
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
