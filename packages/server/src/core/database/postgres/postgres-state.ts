import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { CommitState, DatabaseState } from '../database-state.ts'

interface SettingsRow {
  readonly level: string
  readonly names: string
}

interface StandbyRow {
  readonly name: string | null
  readonly state: string | null
  readonly sync: string | null
  readonly bytes: number | null
  readonly ms: number | null
}

/** @param db connections to the primary alone */
export async function postgresState(db: Db): Promise<DatabaseState> {
  const settings = await sql<SettingsRow>`select current_setting('synchronous_commit') as level,
    current_setting('synchronous_standby_names') as names`.execute(db)
  const { level, names } = settings.rows[0] as SettingsRow
  const found = await sql<StandbyRow>`select application_name as name, state, sync_state as sync,
    pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint as bytes,
    (extract(epoch from replay_lag) * 1000)::bigint as ms
    from pg_stat_replication where state is distinct from 'backup' order by 1, pid`.execute(db)
  return {
    role: 'primary',
    commits: commitState(level, names, found.rows),
    standbys: found.rows.filter(isVisible).map(({ name, state, sync, bytes, ms }) => ({
      name,
      state,
      sync,
      lagBytes: bytes === null ? null : Math.max(0, bytes),
      lagMs: ms,
    })),
  }
}

type Visible = { readonly [K in 'name' | 'state' | 'sync']: string } & StandbyRow

/** Without `pg_monitor` there are rows, and nothing in them. */
function isVisible(row: StandbyRow): row is Visible {
  return row.name !== null && row.state !== null && row.sync !== null
}

/** @param level what writers raise to `on` where it is `off` (`postgres-writer.ts`) */
function commitState(level: string, names: string, rows: readonly StandbyRow[]): CommitState {
  if (names.trim() === '' || level === 'local') return { waitFor: 'disk', satisfied: true }
  if (!rows.every(isVisible)) return { waitFor: 'standby', satisfied: null }
  // FIRST 2 (a, b), ANY 2 (a, b), 2 (a, b); a plain list means one (PostgreSQL, synchronous_standby_names).
  const needed = Number(/^\s*(?:first|any)?\s*(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
  const there = rows.filter(
    ({ state, sync }) => state === 'streaming' && (sync === 'sync' || sync === 'quorum'),
  )
  return { waitFor: 'standby', satisfied: there.length >= needed }
}
