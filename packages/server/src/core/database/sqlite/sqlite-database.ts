import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { CompiledQuery } from 'kysely'
import type { Batch, Database, Db, Tx } from '../database.ts'
import { lastSeq } from '../event-table.ts'
import { GroupCommit, type Writer } from '../group-commit.ts'
import { isUpToDate, migrate } from '../migrate.ts'
import type { TransactionEnd } from '../stats.ts'
import { type DatabaseState, FILE_STATE } from '../stats.ts'
import { beginInTurn, kyselyOver, openConnection } from './connection.ts'
import { orDamaged, requireSound } from './sqlite-damage.ts'
import { ALWAYS, type WriterTurn } from './writer-turn.ts'

/** Random keys touch pages all over the indexes: with SQLite's 2 MiB most of them would be read again and again. */
const WRITER_CACHE_KIB = 64 * 1024

/** `integer primary key` is the row's own number, and texts are compared byte for byte anyway. */
const COLUMN_TYPES = { bytes: 'blob', id: 'integer', text: 'text' } as const

const COMMIT = CompiledQuery.raw('commit')
const ROLLBACK = CompiledQuery.raw('rollback')

/**
 * Opens the file, makes it where it is missing (readable by its owner alone), and brings its schema up to date.
 * @param turn taken for every transaction that writes
 */
export async function openSqlite(
  file: string,
  now: () => number,
  turn: WriterTurn = ALWAYS,
): Promise<Database> {
  if (!existsSync(dirname(file))) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await turn.acquire()
  try {
    await orDamaged(() => migrateFile(file, now))
  } finally {
    turn.release(false)
  }
  return new SqliteDatabase(file, turn)
}

/** @returns the names of the migrations that were applied now */
export async function migrateFile(file: string, now: () => number): Promise<string[]> {
  const connection = openConnection(file)
  chmodSync(file, 0o600)
  const db = kyselyOver(connection)
  try {
    if (await isUpToDate(db)) return []
    connection.exec('BEGIN IMMEDIATE')
    const applied = await migrate(db, COLUMN_TYPES, now())
    connection.exec('COMMIT')
    return applied
  } finally {
    await db.destroy()
  }
}

/** One connection writes, another reads, so that no read sees what is not committed. */
class SqliteDatabase implements Database {
  readonly read: Db
  readonly points: Db
  readonly eventReader: Db
  readonly #writer: Db
  readonly #writing: DatabaseSync
  readonly #reader: DatabaseSync
  readonly #commits: GroupCommit
  readonly #listeners: (() => Promise<void>)[] = []
  readonly #dataVersion: () => unknown
  readonly #turn: WriterTurn
  #seenVersion: unknown

  constructor(file: string, turn: WriterTurn) {
    this.#turn = turn
    const writer = openConnection(file)
    writer.exec(`PRAGMA cache_size = -${WRITER_CACHE_KIB}; PRAGMA busy_timeout = 0`)
    this.#writing = writer
    this.#writer = kyselyOver(writer)
    this.#reader = openConnection(file)
    this.read = kyselyOver(this.#reader)
    this.points = this.read
    this.eventReader = this.read
    this.#commits = new GroupCommit(writerOver(this.#writer, turn), () => this.#announce())
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

  changedElsewhere(): boolean {
    const version = this.#dataVersion()
    const changed = version !== this.#seenVersion
    this.#seenVersion = version
    return changed
  }

  /** The file tells nobody: what others than this service's own processes write is asked for. */
  onElsewhere(listener: () => void): void {
    this.#turn.onElsewhere(listener)
  }

  check(): Promise<void> {
    return requireSound(this.#reader)
  }

  async state(): Promise<DatabaseState> {
    return FILE_STATE
  }

  async close(): Promise<void> {
    await this.#commits.close()
    await this.#writer.destroy()
    await this.read.destroy()
    // Kysely closes only what it has used. The last to be closed brings the log into the file.
    for (const each of [this.#writing, this.#reader]) if (each.isOpen) each.close()
  }

  async #announce(): Promise<void> {
    for (const listener of this.#listeners) await listener()
  }
}

/** Whatever fails in a transaction, its rollback is asked for: the turn ends with that. */
function writerOver(db: Db, turn: WriterTurn): Writer {
  return {
    db,
    isLost: false,
    async begin() {
      await turn.acquire()
      await beginInTurn(db)
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
