import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import { type Db, StorageFailure, type Tables } from '../database.ts'
import { registerSyncExecutor } from '../prepared.ts'
import { errcodeOf } from './sqlite-damage.ts'

/** How long a transaction waits for another process to release the write lock, and how often it tries. */
const BUSY_TIMEOUT_MS = 5000
const BUSY_RETRY_MS = 5

/** SQLITE_BUSY (sqlite.org/rescode.html). */
const BUSY = 5

const BEGIN = CompiledQuery.raw('begin immediate')

/**
 * Begins a write transaction, and retries while another process writes. SQLite's own wait would block the event loop.
 * @param db a connection with a `busy_timeout` of 0
 * @throws StorageFailure if the lock is not free within five seconds
 */
export async function beginImmediate(db: Db): Promise<void> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      await db.executeQuery(BEGIN)
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await sleep(BUSY_RETRY_MS)
  }
}

function isBusy(error: unknown): boolean {
  const { errcode } = ((error as StorageFailure | null)?.cause ?? {}) as { errcode?: number }
  return error instanceof StorageFailure && ((errcode ?? 0) & 0xff) === BUSY
}

/** More than the service has statements. A bound, in case a statement is ever built from input. */
const STATEMENT_CACHE = 500

/** Pages of 4 KiB, so 16 MiB: a page that changes often is then copied once for many changes. */
const CHECKPOINT_PAGES = 4000

/** Opens one connection to the file, with the settings that make a commit durable. */
export function openConnection(file: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  const connection = new DatabaseSync(file, {
    readOnly: options.readOnly ?? false,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
    timeout: BUSY_TIMEOUT_MS,
  })
  if (!options.readOnly) {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    // Deleted bytes are overwritten. With FAST, those of pages that become free would stay in the file.
    connection.exec('PRAGMA secure_delete = ON')
  }
  return connection
}

/** Kysely over node:sqlite. Caches prepared statements, which makes a select five times faster. */
export function kyselyOver(connection: DatabaseSync): Kysely<Tables> {
  const cache = new Map<string, CachedStatement>()
  const prepare = (sql: string): CachedStatement => {
    const known = cache.get(sql)
    if (known !== undefined) return known
    const statement = new CachedStatement(wrapStorageErrors(() => connection.prepare(sql)))
    if (cache.size < STATEMENT_CACHE) cache.set(sql, statement)
    return statement
  }
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: { prepare, close: () => connection.close() } }),
  })
  registerSyncExecutor(db, (text, parameters) => prepare(text).rows(parameters))
  return db
}

/** The statement interface of Kysely's SqliteDialect. */
class CachedStatement {
  readonly reader: boolean
  readonly #statement: StatementSync

  constructor(statement: StatementSync) {
    this.#statement = statement
    this.reader = statement.columns().length > 0
  }

  all(parameters: readonly unknown[]): unknown[] {
    return wrapStorageErrors(() => this.#statement.all(...(parameters as SQLInputValue[])))
  }

  rows(parameters: readonly unknown[]): unknown[] {
    if (this.reader) return this.all(parameters)
    this.run(parameters)
    return []
  }

  run(parameters: readonly unknown[]) {
    return wrapStorageErrors(() => this.#statement.run(...(parameters as SQLInputValue[])))
  }

  /** Kysely's streaming: refused, because two iterations of one cached statement at once would lose rows. */
  iterate(): IterableIterator<unknown> {
    throw new Error('cached statements cannot be streamed')
  }
}

/** Primary and extended result codes (sqlite.org/rescode.html). */
const GENERIC_ERROR = 1
const CONSTRAINT = 19

/** Passes on constraint violations, and generic errors, which are bugs of ours. Any other error is a failure of SQLite. */
function wrapStorageErrors<T>(execute: () => T): T {
  try {
    return execute()
  } catch (error) {
    const code = errcodeOf(error)
    if (code === null || code === GENERIC_ERROR || (code & 0xff) === CONSTRAINT) throw error
    throw new StorageFailure('The database failed.', { cause: error })
  }
}
