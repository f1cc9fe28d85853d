import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { CompiledQuery } from 'kysely'
import type { Batch, Database, Db, Effects, Tx } from '../database.ts'
import { lastSeq } from '../event-table.ts'
import { GroupCommit, type Writer } from '../group-commit.ts'
import { isUpToDate, migrate } from '../migrate.ts'
import { MIGRATIONS } from '../schema/migrations/index.ts'
import { type DatabaseState, FILE_STATE, type TransactionEnd } from '../stats.ts'
import { beginImmediate, kyselyOver, openConnection } from './connection.ts'
import { assertIntact, mapDamageErrors } from './sqlite-damage.ts'
import { ALWAYS, type WriterTurn } from './writer-turn.ts'

/** Together 16 MiB. Random keys touch pages all over the indexes, of which SQLite's default of 2 MiB would evict most. */
const WRITER_CACHE_KIB = 12 * 1024
const READER_CACHE_KIB = 4 * 1024

/** `integer primary key` is an alias of the row ID. SQLite compares text byte by byte by default. */
const COLUMN_TYPES = { bytes: 'blob', id: 'integer', text: 'text' } as const

const COMMIT = CompiledQuery.raw('commit')
const ROLLBACK = CompiledQuery.raw('rollback')

/**
 * Opens the file, creates it if it does not exist (mode 0600), and applies pending migrations.
 * @param turn acquired for each write transaction
 * @throws NewerSchemaError, UnreleasedSchemaError, StorageFailure, DamagedFileError
 */
export async function openSqlite(
  file: string,
  now: () => number,
  effects: Effects,
  turn: WriterTurn = ALWAYS,
): Promise<Database> {
  if (!existsSync(dirname(file))) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await turn.acquire()
  try {
    await mapDamageErrors(() => migrateFile(file, now))
  } finally {
    turn.release(false)
  }
  return new SqliteDatabase(file, effects, turn)
}

/** Applies pending migrations. @returns the names of those that it applied */
export async function migrateFile(
  file: string,
  now: () => number,
  migrations = MIGRATIONS,
): Promise<string[]> {
  const connection = openConnection(file)
  chmodSync(file, 0o600)
  const db = kyselyOver(connection)
  try {
    if (await isUpToDate(db, migrations)) return []
    connection.exec('BEGIN IMMEDIATE')
    const applied = await migrate(db, COLUMN_TYPES, now(), migrations)
    connection.exec('COMMIT')
    return applied
  } finally {
    await db.destroy()
  }
}

/** One connection writes and another reads, so that no read sees uncommitted changes. */
class SqliteDatabase implements Database {
  readonly read: Db
  readonly pointReads: Db
  readonly eventReader: Db
  readonly #writer: Db
  readonly #writing: DatabaseSync
  readonly #reader: DatabaseSync
  readonly #commits: GroupCommit
  readonly #listeners: (() => Promise<void>)[] = []
  readonly #dataVersion: () => unknown
  readonly #turn: WriterTurn
  #seenVersion: unknown

  constructor(file: string, effects: Effects, turn: WriterTurn) {
    this.#turn = turn
    const writer = openConnection(file)
    writer.exec(`PRAGMA cache_size = -${WRITER_CACHE_KIB}; PRAGMA busy_timeout = 0`)
    this.#writing = writer
    this.#writer = kyselyOver(writer)
    this.#reader = openConnection(file)
    this.#reader.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}`)
    this.read = kyselyOver(this.#reader)
    this.pointReads = this.read
    this.eventReader = this.read
    this.#commits = new GroupCommit(writerOver(this.#writer, turn), effects, () => this.#announce())
    const statement = this.#reader.prepare('PRAGMA data_version')
    this.#dataVersion = () => statement.get()?.data_version
    this.#seenVersion = this.#dataVersion()
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#commits.write(work)
  }

  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    return this.#commits.writeBatched(batch, item)
  }

  /** Fails while another process writes, or reads what the write-ahead log has: a backup, for example. */
  removeDeleted(): Promise<boolean> {
    return this.#commits.between(async () => {
      await this.#turn.acquire()
      try {
        return this.#writing.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
      } finally {
        this.#turn.release(false)
      }
    })
  }

  get connections(): null {
    return null
  }

  get waitingWrites(): number {
    return this.#commits.waiting
  }

  onTransaction(listener: (end: TransactionEnd) => void): void {
    this.#commits.onTransaction(listener)
  }

  onCommit(listener: () => Promise<void>): void {
    this.#listeners.push(listener)
  }

  mayHaveExternalWrites(): boolean {
    const version = this.#dataVersion()
    const changed = version !== this.#seenVersion
    this.#seenVersion = version
    return changed
  }

  /** Covers the processes of this service. Other writers show only in `mayHaveExternalWrites`. */
  onExternalWrite(listener: () => void): void {
    this.#turn.onExternalWrite(listener)
  }

  check(): Promise<void> {
    return assertIntact(this.#reader)
  }

  async state(): Promise<DatabaseState> {
    return FILE_STATE
  }

  async close(): Promise<void> {
    await this.#commits.close()
    await this.#writer.destroy()
    await this.read.destroy()
    // Kysely closes only connections that it has used. Closing the last one checkpoints the write-ahead log.
    for (const each of [this.#writing, this.#reader]) if (each.isOpen) each.close()
  }

  async #announce(): Promise<void> {
    for (const listener of this.#listeners) await listener()
  }
}

/** GroupCommit calls `rollback` after any failure, which releases the turn. */
function writerOver(db: Db, turn: WriterTurn): Writer {
  return {
    db,
    isLost: false,
    async begin() {
      await turn.acquire()
      await beginImmediate(db)
      return lastSeq(db)
    },
    async commit() {
      await db.executeQuery(COMMIT)
      turn.release(true)
    },
    async rollback() {
      try {
        await db.executeQuery(ROLLBACK)
      } finally {
        turn.release(false)
      }
    },
  }
}
