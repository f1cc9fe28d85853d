import type { Gauges } from './gauges-type.ts'
import type { Registration } from './registration.ts'

/** What `countersign_commits_wait` says of each. */
const WAITS = ['disk', 'standby', 'unknown'] as const

/** What the database is, and what stands behind an acknowledged write. */
export function describeDatabase(
  on: Registration,
  { database, connections }: Pick<Gauges, 'database' | 'connections'>,
): void {
  on.gauge('countersign_database_reachable', 'Whether the primary answers', async () =>
    Number((await database()).role !== 'unreachable'),
  )
  on.labelled(
    'countersign_commits_wait',
    'What an acknowledged write is known to be on',
    ['for'],
    async () => {
      const { waitFor } = (await database()).commits
      return WAITS.map((each) => [{ for: each }, Number(each === waitFor)] as const)
    },
  )
  on.gauge(
    'countersign_commits_satisfied',
    'Whether what commits wait for is there; NaN where the user of the database may not see it',
    async () => {
      const { satisfied } = (await database()).commits
      return satisfied === null ? Number.NaN : Number(satisfied)
    },
  )
  on.gauge(
    'countersign_standbys_streaming',
    'Standbys that follow the primary now',
    async () => (await database()).standbys.filter(({ state }) => state === 'streaming').length,
  )
  describeLags(on, database)
  on.labelled(
    'countersign_database_connections',
    'Connections for reading, by what they do; `waiting` are reads without one',
    ['state'],
    () => Object.entries(connections() ?? {}).map(([state, count]) => [{ state }, count] as const),
  )
}

function describeLags(on: Registration, database: Gauges['database']): void {
  const lags = async (lag: 'lagBytes' | 'lagMs', unit: number) =>
    (await database()).standbys.map(
      (each) =>
        [{ standby: each.name, sync: each.sync }, (each[lag] ?? Number.NaN) / unit] as const,
    )
  on.labelled(
    'countersign_standby_lag_bytes',
    'What a standby has not replayed of what the primary has written',
    ['standby', 'sync'],
    () => lags('lagBytes', 1),
  )
  on.labelled(
    'countersign_standby_lag_seconds',
    'How long ago the primary wrote what a standby has replayed last; NaN while nothing happens',
    ['standby', 'sync'],
    () => lags('lagMs', 1000),
  )
}
