import { sql } from 'kysely'
import type { Batch, Database, Db, Tx } from './database.ts'
import { GroupCommit } from './group-commit.ts'
import { migrate } from './migrate.ts'
import {
  execute,
  executeScript,
  kyselyOver,
  kyselyOverPool,
  newClient,
  orStorageFailure,
} from './postgres.ts'
import { Hosts } from './postgres-hosts.ts'
import { PostgresListener } from './postgres-listener.ts'
import { BEGIN, PostgresWriter } from './postgres-writer.ts'

/** A point read takes a fraction of a millisecond: few connections carry much, and servers have few to give. */
const READERS = 8

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
  return inOneTransaction(url, (db) => migrate(db, COLUMN_TYPES, now()))
}

/** Works in a transaction of a connection of its own, beside which no other writes; all of it or nothing. */
export async function inOneTransaction<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
  const client = await newClient(new Hosts(url), AS_LONG_AS_IT_TAKES)
  // Told by the statement that is under way.
  client.on('error', () => undefined)
  try {
    await orStorageFailure(() => client.connect())
    await executeScript(client, BEGIN)
    const result = await work(kyselyOver((text, values) => execute(client, text, values)))
    await executeScript(client, 'commit')
    return result
  } finally {
    // What was not committed is rolled back.
    await client.end()
  }
}

/** One connection writes, a few read, one listens. */
class PostgresDatabase implements Database {
  readonly read: Db
  readonly #writer: PostgresWriter
  readonly #commits: GroupCommit
  readonly #listener: PostgresListener
  readonly #onCommit: (() => Promise<void>)[] = []
  readonly #onElsewhere: (() => void)[] = []

  constructor(url: string) {
    const hosts = new Hosts(url)
    this.read = kyselyOverPool(hosts, READERS)
    this.#writer = new PostgresWriter(hosts)
    this.#commits = new GroupCommit(this.#writer, () => this.#announce())
    this.#listener = new PostgresListener(hosts, (processId) => {
      if (processId !== null && processId === this.#writer.processId) return
      for (const listener of this.#onElsewhere) listener()
    })
  }

  listen(): Promise<void> {
    return this.#listener.start()
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#commits.write(work)
  }

  writeTogether<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    return this.#commits.writeTogether(batch, item)
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

  async check(): Promise<void> {
    const { rows } = await sql<{ version: number; encoding: string; standby: boolean }>`
      select current_setting('server_version_num')::int as version,
        current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby`.execute(
      this.read,
    )
    const found = rows[0]
    if (found === undefined || found.version < OLDEST_VERSION)
      throw new Error('PostgreSQL 15 or newer is needed.')
    if (found.encoding !== 'UTF8') throw new Error('The database must have the encoding UTF8.')
    if (found.standby) throw new Error('This PostgreSQL is a standby: the primary is needed.')
  }

  async close(): Promise<void> {
    await this.#commits.idle()
    await this.#listener.close()
    await this.#writer.close()
    await this.read.destroy()
  }

  async #announce(): Promise<void> {
    for (const listener of this.#onCommit) await listener()
  }
}
