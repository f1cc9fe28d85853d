import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, type DatabaseSync } from 'node:sqlite'
import { CompiledQuery } from 'kysely'
import type { Batch, Database, Db, Tx } from './database.ts'
import { lastSeq } from './events.ts'
import { GroupCommit, type Writer } from './group-commit.ts'
import { migrate } from './migrate.ts'
import { kyselyOver, openConnection } from './sqlite.ts'

/** Random keys touch pages all over the indexes: with SQLite's 2 MiB most of them would be read again and again. */
const WRITER_CACHE_KIB = 64 * 1024

/** `integer primary key` is the row's own number, and texts are compared byte for byte anyway. */
const COLUMN_TYPES = { bytes: 'blob', id: 'integer', text: 'text' } as const

const BEGIN = CompiledQuery.raw('begin immediate')
const COMMIT = CompiledQuery.raw('commit')
const ROLLBACK = CompiledQuery.raw('rollback')

/** Opens the file, makes it where it is missing (readable by its owner alone), and brings its schema up to date. */
export async function openSqlite(file: string, now: () => number): Promise<Database> {
  if (!existsSync(dirname(file))) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  await migrateFile(file, now)
  return new SqliteDatabase(file)
}

/** @returns the names of the migrations that were applied now */
export async function migrateFile(file: string, now: () => number): Promise<string[]> {
  const connection = openConnection(file)
  chmodSync(file, 0o600)
  const db = kyselyOver(connection)
  try {
    connection.exec('BEGIN IMMEDIATE')
    const applied = await migrate(db, COLUMN_TYPES, now())
    connection.exec('COMMIT')
    return applied
  } finally {
    await db.destroy()
  }
}

/** Copies a consistent state to a new file, while others read and write. */
export async function backupFile(file: string, target: string): Promise<void> {
  const connection = openConnection(file)
  try {
    await backup(connection, target)
  } finally {
    connection.close()
  }
  chmodSync(target, 0o600)
}

/** One connection writes, another reads, so that no read sees what is not committed. */
class SqliteDatabase implements Database {
  readonly read: Db
  readonly #writer: Db
  readonly #reader: DatabaseSync
  readonly #commits: GroupCommit
  readonly #listeners: (() => Promise<void>)[] = []
  readonly #dataVersion: () => unknown
  #seenVersion: unknown

  constructor(file: string) {
    const writer = openConnection(file)
    writer.exec(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`)
    this.#writer = kyselyOver(writer)
    this.#reader = openConnection(file)
    this.read = kyselyOver(this.#reader)
    this.#commits = new GroupCommit(writerOver(this.#writer), () => this.#announce())
    const statement = this.#reader.prepare('PRAGMA data_version')
    this.#dataVersion = () => statement.get()?.data_version
    this.#seenVersion = this.#dataVersion()
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#commits.write(work)
  }

  /** Statements cost no round trip here: each by itself is as cheap. */
  writeTogether<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    return this.write((tx) => batch.one(tx, item))
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

  /** What another process has written is asked for: the file tells nobody. */
  onElsewhere(): void {}

  async check(): Promise<void> {
    const rows = this.#reader.prepare('PRAGMA quick_check(1)').all()
    const verdict = rows[0]?.quick_check
    if (verdict !== 'ok') throw new Error(`The database file is damaged: ${verdict}`)
  }

  async close(): Promise<void> {
    await this.#commits.idle()
    await this.#writer.destroy()
    await this.read.destroy()
  }

  async #announce(): Promise<void> {
    for (const listener of this.#listeners) await listener()
  }
}

function writerOver(db: Db): Writer {
  return {
    db,
    isLost: false,
    async begin() {
      await db.executeQuery(BEGIN)
      return lastSeq(db)
    },
    async commit() {
      await db.executeQuery(COMMIT)
    },
    async rollback() {
      await db.executeQuery(ROLLBACK)
    },
  }
}
