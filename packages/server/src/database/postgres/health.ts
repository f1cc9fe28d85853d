import { sql } from 'kysely'
import type pg from 'pg'
import type { Db } from '../database.ts'
import type { CommitState, DatabaseState } from '../stats.ts'
import { endClient } from './postgres.ts'
import { type Hosts, newProbe, roleOf } from './postgres-hosts.ts'

const INTERVAL_MS = 1000

/**
 * Polls all hosts for a new primary. Connections to the former primary may still work after a failover, so they would not
 * reveal it. Does nothing if there is only one host.
 */
export class PrimaryMonitor {
  readonly #hosts: Hosts
  readonly #onPromotion: () => void
  readonly #clients = new Map<string, pg.Client>()
  #timer: NodeJS.Timeout | null = null
  #isProbing = false

  /** @param onPromotion called when another host has become the primary */
  constructor(hosts: Hosts, onPromotion: () => void) {
    this.#hosts = hosts
    this.#onPromotion = onPromotion
  }

  start(): void {
    if (this.#hosts.urls.length > 1)
      this.#timer = setInterval(() => void this.#probeAll(), INTERVAL_MS)
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    await Promise.allSettled([...this.#clients.values()].map(endClient))
  }

  async #probeAll(): Promise<void> {
    if (this.#isProbing) return
    this.#isProbing = true
    await Promise.allSettled(this.#hosts.urls.map((url) => this.#probe(url)))
    this.#isProbing = false
  }

  async #probe(url: string): Promise<void> {
    const client = this.#clients.get(url) ?? newProbe(url)
    try {
      if (!this.#clients.has(url)) {
        this.#clients.set(url, client)
        await client.connect()
      }
      const timeline = await roleOf(client)
      if (timeline !== null && this.#hosts.observeTimeline(timeline)) this.#onPromotion()
    } catch {
      this.#clients.delete(url)
      void endClient(client)
    }
  }
}

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

/** @param db connected to the primary */
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

/** Without the role `pg_monitor`, all columns of other users' rows are null. */
function isVisible(row: StandbyRow): row is Visible {
  return row.name !== null && row.state !== null && row.sync !== null
}

/** @param level `synchronous_commit`. Writers raise `off` to `on`, so both mean the local disk. */
function commitState(level: string, names: string, rows: readonly StandbyRow[]): CommitState {
  if (names.trim() === '' || level === 'local') return { waitFor: 'disk', satisfied: true }
  if (!rows.every(isVisible)) return { waitFor: 'standby', satisfied: null }
  // FIRST 2 (a, b), ANY 2 (a, b), 2 (a, b); a plain list means one (PostgreSQL, synchronous_standby_names).
  const needed = Number(/^\s*(?:first|any)?\s*(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
  const connected = rows.filter(
    ({ state, sync }) => state === 'streaming' && (sync === 'sync' || sync === 'quorum'),
  )
  return { waitFor: 'standby', satisfied: connected.length >= needed }
}
