import { sql } from 'kysely'
import type pg from 'pg'
import { CachedProbe } from '../../base/cached-probe.ts'
import {
  type Batch,
  type Database,
  type Db,
  type Effects,
  type Inspection,
  StorageFailure,
  type Tx,
  UnknownOutcome,
} from '../database.ts'
import { GroupCommit } from '../group-commit.ts'
import { isUpToDate, migrate } from '../migrate.ts'
import { MIGRATIONS } from '../schema/migrations/index.ts'
import {
  type ConnectionStats,
  type DatabaseState,
  type TransactionEnd,
  UNREACHABLE,
} from '../stats.ts'
import { PrimaryMonitor, postgresState } from './health.ts'
import { connectPrimary, endClient, execute, executeScript, kyselyOver } from './postgres.ts'
import { Hosts } from './postgres-hosts.ts'
import { connectionsOf, kyselyOverPool } from './postgres-pool.ts'
import { BEGIN, ENFORCE_SYNC_COMMIT, isWarning, NOTIFY_CHANNEL, PostgresWriter } from './writer.ts'

/** A point read takes a fraction of a millisecond, so a few connections are enough. Servers allow only about a hundred. */
const READERS = { max: 6 }
const POINT_READERS = { max: 6, timeoutMs: 1000 }
const EVENT_READER = { max: 1, timeoutMs: 1000 }

/** PostgreSQL 15, in the form of `server_version_num`. */
const MIN_VERSION = 150_000

const COLUMN_TYPES = { bytes: 'bytea', id: 'bigint', text: 'text collate "C"' } as const

/** Advisory lock of the node that vacuums after an erasure: the ASCII codes of "csgv". */
const VACUUM_LOCK = 0x63736776

/** Migrations, imports and vacuums may take long. */
const NO_TIMEOUTS = {
  query_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
} as const

/**
 * Connects and applies pending migrations. If several nodes start at once, one of them migrates.
 * @param url may name several hosts, separated by commas
 * @throws NewerSchemaError, UnreleasedSchemaError, StorageFailure
 */
export async function openPostgres(
  url: string,
  now: () => number,
  effects: Effects,
): Promise<Database> {
  await migratePostgres(url, now)
  const db = new PostgresDatabase(url, effects)
  await db.listen()
  return db
}

/** Applies pending migrations. @returns the names of those that it applied */
export function migratePostgres(
  url: string,
  now: () => number,
  migrations = MIGRATIONS,
): Promise<string[]> {
  return withConnection(url, async (client) => {
    if (await isUpToDate(kyselyOverClient(client), migrations)) return []
    return transact(client, (db) => migrate(db, COLUMN_TYPES, now(), migrations))
  })
}

/** Inspects the database as it is, on a separate connection. Nothing is created, migrated or written. */
export function inspectPostgres<T>(
  url: string,
  work: (data: Inspection) => Promise<T>,
): Promise<T> {
  return withConnection(url, (client) => {
    const db = kyselyOverClient(client)
    return work({ db, check: () => assertUsable(db) })
  })
}

/** @throws Error that says what is wrong with this server or its database */
async function assertUsable(db: Db): Promise<void> {
  const { rows } = await sql<{ version: number; encoding: string; standby: boolean }>`
    select current_setting('server_version_num')::int as version,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby`.execute(db)
  const found = rows[0]
  if (found === undefined || found.version < MIN_VERSION)
    throw new Error('PostgreSQL 15 or later is required.')
  if (found.encoding !== 'UTF8') throw new Error('The database must have the encoding UTF8.')
  if (found.standby) throw new Error('This PostgreSQL is a standby. The primary is required.')
}

/** Runs `work` in one write transaction on a separate connection. Commits if `work` resolves. */
export function inOneTransaction<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  return withConnection(url, (client) => transact(client, work))
}

/** Closing the connection rolls back what `work` has not committed. */
async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectPrimary(new Hosts(url), NO_TIMEOUTS)
  try {
    return await work(client)
  } finally {
    await endClient(client)
  }
}

/** @throws UnknownOutcome if it is committed on the primary, but perhaps not on a required standby */
async function transact<T>(client: pg.Client, work: (db: Db) => Promise<T>): Promise<T> {
  await executeScript(client, `${ENFORCE_SYNC_COMMIT};\n${BEGIN}`)
  const result = await work(kyselyOverClient(client))
  const warnings: string[] = []
  client.on('notice', (notice) => {
    if (isWarning(notice)) warnings.push(notice.message ?? '')
  })
  const [ended] = await executeScript(client, 'commit')
  if (ended?.command !== 'COMMIT') throw new StorageFailure('It was rolled back.')
  if (warnings.length > 0)
    throw new UnknownOutcome(`Committed with a warning: ${warnings.join('; ')}`)
  return result
}

function kyselyOverClient(client: pg.Client): Db {
  return kyselyOver((text, values) => execute(client, text, values))
}

/** Uses one connection for writes, two pools for reads, one connection for new events and one for notifications. */
class PostgresDatabase implements Database {
  readonly read: Db
  readonly pointReads: Db
  readonly eventReader: Db
  readonly #hosts: Hosts
  readonly #writer: PostgresWriter
  readonly #commits: GroupCommit
  readonly #listener: PostgresListener
  readonly #primaryMonitor: PrimaryMonitor
  readonly #state: CachedProbe<DatabaseState>
  readonly #onCommit: (() => Promise<void>)[] = []
  readonly #onExternalWrite: (() => void)[] = []

  constructor(url: string, effects: Effects) {
    const hosts = new Hosts(url)
    this.#hosts = hosts
    this.read = kyselyOverPool(hosts, READERS)
    this.pointReads = kyselyOverPool(hosts, POINT_READERS)
    this.eventReader = kyselyOverPool(hosts, EVENT_READER)
    this.#state = new CachedProbe(() => postgresState(this.pointReads), UNREACHABLE)
    this.#writer = new PostgresWriter(hosts)
    this.#commits = new GroupCommit(this.#writer, effects, () => this.#announce())
    this.#listener = new PostgresListener(hosts, (processId) => {
      if (processId !== null && processId === this.#writer.processId) return
      for (const listener of this.#onExternalWrite) listener()
    })
    this.#primaryMonitor = new PrimaryMonitor(hosts, () => this.#listener.reconnect())
  }

  listen(): Promise<void> {
    this.#primaryMonitor.start()
    return this.#listener.start()
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#commits.write(work)
  }

  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    return this.#commits.writeBatched(batch, item)
  }

  /** One node at a time: a second vacuum of the same tables would only repeat the first. */
  async removeDeleted(tables: readonly string[]): Promise<boolean> {
    const client = await connectPrimary(this.#hosts, NO_TIMEOUTS)
    try {
      const lock = `select pg_try_advisory_lock(${VACUUM_LOCK}) as taken`
      const [locked] = await executeScript(client, lock)
      if (locked?.rows[0]?.taken !== true) return false
      await executeScript(client, `vacuum ${tables.join(', ')}`)
      return true
    } finally {
      await endClient(client)
    }
  }

  get connections(): ConnectionStats {
    return connectionsOf([this.read, this.pointReads, this.eventReader])
  }

  get waitingWrites(): number {
    return this.#commits.waiting
  }

  onTransaction(listener: (end: TransactionEnd) => void): void {
    this.#commits.onTransaction(listener)
  }

  onCommit(listener: () => Promise<void>): void {
    this.#onCommit.push(listener)
  }

  /** Only a query could tell, and reading the new events is just as cheap. */
  mayHaveExternalWrites(): boolean {
    return true
  }

  onExternalWrite(listener: () => void): void {
    this.#onExternalWrite.push(listener)
  }

  check(): Promise<void> {
    return assertUsable(this.read)
  }

  state(): Promise<DatabaseState> {
    return this.#state.get()
  }

  async close(): Promise<void> {
    await this.#commits.close()
    await this.#primaryMonitor.close()
    await this.#listener.close()
    await this.#writer.close()
    await Promise.all([this.read, this.pointReads, this.eventReader].map((each) => each.destroy()))
  }

  async #announce(): Promise<void> {
    for (const listener of this.#onCommit) await listener()
  }
}

const RETRY_MS = 250

/**
 * Listens for notifications that other nodes have written. Notifications are lost while it is not connected, so callers
 * must also poll. It reconnects by itself, and then calls back once.
 */
class PostgresListener {
  readonly #hosts: Hosts
  readonly #onNotification: (processId: number | null) => void
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #closed = false

  /** @param onNotification called with the writer's server process ID, or null after a reconnect */
  constructor(hosts: Hosts, onNotification: (processId: number | null) => void) {
    this.#hosts = hosts
    this.#onNotification = onNotification
  }

  async start(): Promise<void> {
    this.#retry = null
    const client = await connectPrimary(this.#hosts).catch(() => null)
    if (this.#closed) return client === null ? undefined : endClient(client)
    if (client === null) return this.#scheduleRetry()
    this.#client = client
    client.on('notification', ({ processId }) => this.#onNotification(processId))
    client.on('error', () => this.#reconnectFrom(client))
    client.on('end', () => this.#reconnectFrom(client))
    try {
      await client.query(`listen ${NOTIFY_CHANNEL}`)
      this.#onNotification(null)
    } catch {
      this.#reconnectFrom(client)
    }
  }

  /** Reconnects to the current primary. */
  reconnect(): void {
    if (this.#client !== null) this.#reconnectFrom(this.#client)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    const client = this.#client
    this.#client = null
    if (client !== null) await endClient(client)
  }

  #reconnectFrom(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = null
    void endClient(client)
    if (!this.#closed) this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    this.#retry = setTimeout(() => void this.start(), RETRY_MS)
  }
}
