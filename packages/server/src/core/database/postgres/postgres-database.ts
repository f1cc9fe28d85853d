import { sql } from 'kysely'
import type pg from 'pg'
import {
  type Batch,
  type Database,
  type Db,
  StorageFailure,
  type Tx,
  UnknownOutcome,
} from '../database.ts'
import { GroupCommit } from '../group-commit.ts'
import type { Inspection } from '../inspection.ts'
import { isUpToDate, migrate } from '../migrate.ts'
import type { ConnectionStats, TransactionEnd } from '../stats.ts'
import { type DatabaseState, UNREACHABLE } from '../stats.ts'
import { CachedProbe, PrimaryMonitor, postgresState } from './health.ts'
import { connectPrimary, endClient, execute, executeScript, kyselyOver } from './postgres.ts'
import { Hosts } from './postgres-hosts.ts'
import { PostgresListener } from './postgres-listener.ts'
import { connectionsOf, kyselyOverPool } from './postgres-pool.ts'
import { BEGIN, DURABLE, isWarning, PostgresWriter } from './writer.ts'

/** A point read takes a fraction of a millisecond: few connections carry much, and servers have few to give. */
const READERS = { max: 6 }
const POINTS = { max: 6, patience: 1000 }
const EVENT_READER = { max: 1, patience: 1000 }

const OLDEST_VERSION = 150_000

const COLUMN_TYPES = {
  bytes: sql`bytea`,
  id: 'bigint',
  text: sql`text collate "C"`,
} as const

const AS_LONG_AS_IT_TAKES = {
  query_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
} as const

/** Connects, and brings the schema up to date; of many nodes that start at once, one does. */
export async function openPostgres(url: string, now: () => number): Promise<Database> {
  await migratePostgres(url, now)
  const db = new PostgresDatabase(url)
  await db.listen()
  return db
}

/** @returns the names of the migrations that were applied now */
export function migratePostgres(url: string, now: () => number): Promise<string[]> {
  return connected(url, async (client) => {
    if (await isUpToDate(kyselyOverClient(client))) return []
    return transact(client, (db) => migrate(db, COLUMN_TYPES, now()))
  })
}

/** Works on the data as they are, through a connection of its own. */
export function examinePostgres<T>(
  url: string,
  work: (data: Inspection) => Promise<T>,
): Promise<T> {
  return connected(url, (client) => {
    const db = kyselyOverClient(client)
    return work({ db, check: () => requireUsable(db) })
  })
}

/** @throws Error that says what this server or its database lacks */
async function requireUsable(db: Db): Promise<void> {
  const { rows } = await sql<{ version: number; encoding: string; standby: boolean }>`
    select current_setting('server_version_num')::int as version,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby`.execute(db)
  const found = rows[0]
  if (found === undefined || found.version < OLDEST_VERSION)
    throw new Error('PostgreSQL 15 or newer is needed.')
  if (found.encoding !== 'UTF8') throw new Error('The database must have the encoding UTF8.')
  if (found.standby) throw new Error('This PostgreSQL is a standby: the primary is needed.')
}

/** Works in a transaction of a connection of its own, beside which no other writes; all of it or nothing. */
export function inOneTransaction<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  return connected(url, (client) => transact(client, work))
}

/** What was not committed in the connection is rolled back at its end. */
async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectPrimary(new Hosts(url), AS_LONG_AS_IT_TAKES)
  try {
    return await work(client)
  } finally {
    await endClient(client)
  }
}

/** @throws UnknownOutcome where it is committed here, and perhaps at no standby that should have it */
async function transact<T>(client: pg.Client, work: (db: Db) => Promise<T>): Promise<T> {
  await executeScript(client, `${DURABLE};\n${BEGIN}`)
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

/** One connection writes, a few read, one follows, one listens. */
class PostgresDatabase implements Database {
  readonly read: Db
  readonly points: Db
  readonly eventReader: Db
  readonly #writer: PostgresWriter
  readonly #commits: GroupCommit
  readonly #listener: PostgresListener
  readonly #primaryMonitor: PrimaryMonitor
  readonly #state: CachedProbe<DatabaseState>
  readonly #onCommit: (() => Promise<void>)[] = []
  readonly #onElsewhere: (() => void)[] = []

  constructor(url: string) {
    const hosts = new Hosts(url)
    this.read = kyselyOverPool(hosts, READERS)
    this.points = kyselyOverPool(hosts, POINTS)
    this.eventReader = kyselyOverPool(hosts, EVENT_READER)
    this.#state = new CachedProbe(() => postgresState(this.points), UNREACHABLE)
    this.#writer = new PostgresWriter(hosts)
    this.#commits = new GroupCommit(this.#writer, () => this.#announce())
    this.#listener = new PostgresListener(hosts, (processId) => {
      if (processId !== null && processId === this.#writer.processId) return
      for (const listener of this.#onElsewhere) listener()
    })
    this.#primaryMonitor = new PrimaryMonitor(hosts, () => this.#listener.renew())
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

  get connections(): ConnectionStats {
    return connectionsOf([this.read, this.points, this.eventReader])
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

  /** The sequence alone knows, and asking for what comes after a number is as cheap as asking for the last one. */
  changedElsewhere(): boolean {
    return true
  }

  onElsewhere(listener: () => void): void {
    this.#onElsewhere.push(listener)
  }

  check(): Promise<void> {
    return requireUsable(this.read)
  }

  state(): Promise<DatabaseState> {
    return this.#state.get()
  }

  async close(): Promise<void> {
    await this.#commits.close()
    await this.#primaryMonitor.close()
    await this.#listener.close()
    await this.#writer.close()
    await Promise.all([this.read, this.points, this.eventReader].map((each) => each.destroy()))
  }

  async #announce(): Promise<void> {
    for (const listener of this.#onCommit) await listener()
  }
}
