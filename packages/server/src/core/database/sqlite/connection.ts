import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { CompiledQuery, Kysely, SqliteDialect } from 'kysely'
import { type Db, StorageFailure, type Tables } from '../database.ts'
import { executesAtOnce } from '../prepared.ts'

/** How long another process may hold the file before a transaction is given up, and how often it is asked for. */
const PATIENCE_MS = 5000
const PAUSE_MS = 5

/** Primary result code (sqlite.org/rescode.html). */
const BUSY = 5

const BEGIN = CompiledQuery.raw('begin immediate')

/**
 * Begins a transaction that writes, after whoever else writes. SQLite would wait inside of the call: in that time nobody
 * would be answered, and nobody told that it takes too long.
 * @param db a connection whose busy_timeout is 0
 * @throws StorageFailure
 */
export async function beginInTurn(db: Db): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      await db.executeQuery(BEGIN)
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await sleep(PAUSE_MS)
  }
}

function isBusy(error: unknown): boolean {
  const { errcode } = ((error as StorageFailure | null)?.cause ?? {}) as { errcode?: number }
  return error instanceof StorageFailure && ((errcode ?? 0) & 0xff) === BUSY
}

/** Enough for every statement that this code knows, and a bound should one ever be built from input. */
const STATEMENT_CACHE = 500

/** The log is copied back after so many pages (16 MiB): pages that change often are then copied once for many changes. */
const CHECKPOINT_PAGES = 4000
/** Opens one connection to the file, with the settings that make a commit durable. */
export function openConnection(file: string, options: { readOnly?: boolean } = {}): DatabaseSync {
  const connection = new DatabaseSync(file, {
    readOnly: options.readOnly ?? false,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
    timeout: 5000,
  })
  if (!options.readOnly) {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  }
  return connection
}

/** Kysely over node:sqlite. Prepared statements are kept: a select costs a fifth of one prepared anew. */
export function kyselyOver(connection: DatabaseSync): Kysely<Tables> {
  const cache = new Map<string, CachedStatement>()
  const prepare = (sql: string): CachedStatement => {
    const known = cache.get(sql)
    if (known !== undefined) return known
    const statement = new CachedStatement(orStorageFailure(() => connection.prepare(sql)))
    if (cache.size < STATEMENT_CACHE) cache.set(sql, statement)
    return statement
  }
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: { prepare, close: () => connection.close() } }),
  })
  executesAtOnce(db, (text, parameters) => prepare(text).rows(parameters))
  return db
}

/** The shape of a statement that Kysely's SqliteDialect asks for. */
class CachedStatement {
  readonly reader: boolean
  readonly #statement: StatementSync

  constructor(statement: StatementSync) {
    this.#statement = statement
    this.reader = statement.columns().length > 0
  }

  all(parameters: readonly unknown[]): unknown[] {
    return orStorageFailure(() => this.#statement.all(...(parameters as SQLInputValue[])))
  }

  rows(parameters: readonly unknown[]): unknown[] {
    if (this.reader) return this.all(parameters)
    this.run(parameters)
    return []
  }

  run(parameters: readonly unknown[]) {
    return orStorageFailure(() => this.#statement.run(...(parameters as SQLInputValue[])))
  }

  /** Kysely streams through this: refused, since a cached statement that is stepped twice at once loses rows. */
  iterate(): IterableIterator<unknown> {
    throw new Error('a cached statement is not streamed')
  }
}

/** Primary and extended result codes (sqlite.org/rescode.html). */
const GENERIC_ERROR = 1
const CONSTRAINT = 19

/** Constraints are answers and generic errors our own mistakes; whatever else SQLite throws is its failure. */
function orStorageFailure<T>(execute: () => T): T {
  try {
    return execute()
  } catch (error) {
    const code = errcodeOf(error)
    if (code === null || code === GENERIC_ERROR || (code & 0xff) === CONSTRAINT) throw error
    throw new StorageFailure('The database failed.', { cause: error })
  }
}

/** SQLite's result code of an error that it has thrown, extended; null where it has not. */
export function errcodeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}
