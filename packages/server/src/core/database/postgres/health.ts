import { sql } from 'kysely'
import type pg from 'pg'
import type { Db } from '../database.ts'
import type { CommitState, DatabaseState } from '../stats.ts'
import { endClient } from './postgres.ts'
import { type Hosts, newProbe, roleOf } from './postgres-hosts.ts'

const EVERY_MS = 1000

/**
 * Asks all hosts again and again whether one of them has become the primary: connections to the one before may go on
 * as if nothing had happened. Where there is one host there is nobody to ask.
 */
export class PrimaryMonitor {
  readonly #hosts: Hosts
  readonly #promoted: () => void
  readonly #clients = new Map<string, pg.Client>()
  #timer: NodeJS.Timeout | null = null
  #asking = false

  /** @param promoted called when another host has become the primary */
  constructor(hosts: Hosts, promoted: () => void) {
    this.#hosts = hosts
    this.#promoted = promoted
  }

  start(): void {
    if (this.#hosts.urls.length > 1) this.#timer = setInterval(() => void this.#askAll(), EVERY_MS)
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    await Promise.allSettled([...this.#clients.values()].map(endClient))
  }

  async #askAll(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    await Promise.allSettled(this.#hosts.urls.map((url) => this.#ask(url)))
    this.#asking = false
  }

  async #ask(url: string): Promise<void> {
    const client = this.#clients.get(url) ?? newProbe(url)
    try {
      if (!this.#clients.has(url)) {
        this.#clients.set(url, client)
        await client.connect()
      }
      const timeline = await roleOf(client)
      if (timeline !== null && this.#hosts.learn(timeline)) this.#promoted()
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

/** How long an answer is good for, and how long one is waited for. */
const GOOD_FOR_MS = 1000
const PATIENCE_MS = 800

/** Something that is asked for at most once a second, however many want to know, and keeps none of them waiting. */
export class CachedProbe<T> {
  readonly #ask: () => Promise<T>
  readonly #unknown: T
  #asked: { readonly at: number; readonly answer: Promise<T> } | null = null

  /** @param unknown in the place of an answer that does not come in time, or not at all */
  constructor(ask: () => Promise<T>, unknown: T) {
    this.#ask = ask
    this.#unknown = unknown
  }

  get(): Promise<T> {
    const now = performance.now()
    if (this.#asked === null || now - this.#asked.at > GOOD_FOR_MS)
      this.#asked = { at: now, answer: this.#inTime(this.#ask()) }
    return this.#asked.answer
  }

  #inTime(asked: Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(this.#unknown), PATIENCE_MS)
      const settle = (answer: T) => {
        clearTimeout(timer)
        resolve(answer)
      }
      asked.then(settle, () => settle(this.#unknown))
    })
  }
}
