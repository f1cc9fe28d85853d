import { chmodSync, renameSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { MIGRATIONS } from '../migrations/index.ts'
import { openConnection } from '../sqlite/connection.ts'

/** The file is no backup that this release can use. */
export class NotABackupError extends Error {
  override readonly name = 'NotABackupError'
}

/** What is in a database file that was found sound. */
export interface FileContents {
  readonly owners: number
  readonly agents: number
  readonly events: number
  /** The number of the last event: what was written up to it is there. */
  readonly lastEvent: number
}

/**
 * Copies a consistent state to a new file, while others read and write, and reads the copy again: under its name there
 * is a sound backup or none.
 * @throws NotABackupError where the copy is damaged, most often because the database is
 */
export async function backupFile(file: string, target: string): Promise<FileContents> {
  const draft = `${target}.part`
  removeFile(draft)
  const connection = openConnection(file)
  try {
    // One state from its first page to its last: else what others write meanwhile makes SQLite begin again, each time.
    connection.exec('BEGIN')
    const before = lastEvent(connection)
    await backup(connection, draft)
    chmodSync(draft, 0o600)
    asOneFile(draft)
    const contents = inspectBackup(draft)
    if (contents.lastEvent < before) throw new NotABackupError('The copy is not whole.')
    renameSync(draft, target)
    return contents
  } finally {
    connection.close()
    removeFile(draft)
  }
}

/** Without a write-ahead log, so that it can be moved, and read where nothing can be written. */
export function asOneFile(file: string): void {
  const copy = new DatabaseSync(file)
  try {
    copy.exec('PRAGMA journal_mode = DELETE')
  } catch {
    // Damaged: that is found when it is read.
  } finally {
    copy.close()
  }
}

/** What SQLite keeps beside a file: left there, it is taken for the log of whatever takes the file's place. */
export const BESIDE = ['-wal', '-shm', '-journal'] as const

/** With whatever SQLite keeps beside it. */
export function removeFile(draft: string): void {
  for (const suffix of ['', ...BESIDE]) rmSync(draft + suffix, { force: true })
}

/**
 * Reads a backup from its beginning to its end.
 * @throws NotABackupError where it is damaged, not of this service, or of a newer release
 */
export function inspectBackup(file: string): FileContents {
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    requireKnownSchema(source)
    if (source.prepare('PRAGMA quick_check(1)').get()?.quick_check !== 'ok')
      throw new NotABackupError('The file is damaged.')
    if (source.prepare('PRAGMA foreign_key_check').get() !== undefined)
      throw new NotABackupError('The file is damaged: rows refer to rows that are not there.')
    return contentsOf(source)
  } catch (error) {
    if (error instanceof NotABackupError) throw error
    const message = isDamage(error)
      ? 'The file is damaged.'
      : 'The file is no backup of this service.'
    throw new NotABackupError(message, { cause: error })
  } finally {
    source.close()
  }
}

function requireKnownSchema(source: DatabaseSync): void {
  const names = source.prepare('SELECT name FROM schema_migrations').all()
  const newer = names.some(({ name }) => !MIGRATIONS.some((each) => each.name === name))
  if (newer || names.length === 0) throw new NotABackupError('The file is of another release.')
}

function contentsOf(source: DatabaseSync): FileContents {
  const count = (table: string) =>
    source.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count as number
  return {
    owners: count('owners'),
    agents: count('agents'),
    events: count('events'),
    lastEvent: lastEvent(source),
  }
}

function lastEvent(source: DatabaseSync): number {
  return source.prepare('SELECT coalesce(max(seq), 0) AS last FROM events').get()?.last as number
}

/** SQLITE_CORRUPT, with whatever it says beyond that. */
function isDamage(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === 11
}
