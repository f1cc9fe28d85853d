import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { syncPath } from '../../base/durable-file.ts'
import { isUnreleased, unknownMigrations } from '../migrate.ts'
import { openConnection } from '../sqlite/connection.ts'
import { integrityFault } from '../sqlite/sqlite-damage.ts'

/** The file is not a backup that this release can use. */
export class NotABackupError extends Error {
  override readonly name = 'NotABackupError'
}

/** The contents of a database file that passed all checks. */
export interface FileContents {
  readonly owners: number
  readonly agents: number
  readonly events: number
  /** The sequence number of the last event: the file has everything written up to it. */
  readonly lastEvent: number
}

/**
 * Writes a consistent copy to a new file, while others read and write the database. The copy is made of the rows, so that it has
 * nothing of those that were deleted. It gets its name only after it has been checked.
 * @param verify a further check of the copy, which throws what is wrong
 * @throws NotABackupError if the copy is damaged, most often because the database is
 */
export async function backupFile(
  file: string,
  target: string,
  verify: (copy: string) => Promise<void>,
): Promise<FileContents> {
  const draft = `${target}.part`
  removeFile(draft)
  const connection = openConnection(file)
  try {
    const before = lastEvent(connection)
    // SQLite would make the file with the rights of the umask. It takes an empty one.
    writeFileSync(draft, '', { mode: 0o600 })
    copyRows(connection, draft)
    disableWal(draft)
    syncPath(draft)
    const contents = inspectBackup(draft)
    if (contents.lastEvent < before) throw new NotABackupError('The copy is incomplete.')
    await verify(draft)
    renameSync(draft, target)
    return contents
  } finally {
    connection.close()
    removeFile(draft)
  }
}

function copyRows(connection: DatabaseSync, target: string): void {
  try {
    connection.prepare('VACUUM INTO ?').run(target)
  } catch (cause) {
    if (isDamage(cause)) throw new NotABackupError('The file is damaged.', { cause })
    throw cause
  }
}

/** Switches the write-ahead log off, so that the file can be moved, and read on a read-only file system. */
export function disableWal(file: string): void {
  const copy = new DatabaseSync(file)
  try {
    copy.exec('PRAGMA journal_mode = DELETE')
  } catch {
    // The file is damaged, which the check that follows reports.
  } finally {
    copy.close()
  }
}

/** Suffixes of SQLite's side files. One left behind would be taken for the log of the file's replacement. */
export const SIDE_FILE_SUFFIXES = ['-wal', '-shm', '-journal'] as const

/** Deletes a database file with its side files. */
export function removeFile(draft: string): void {
  for (const suffix of ['', ...SIDE_FILE_SUFFIXES]) rmSync(draft + suffix, { force: true })
}

/**
 * Checks every page and every reference of a backup.
 * @throws NotABackupError if it is damaged, from another application, from a newer release, or from a build before the first
 */
export function inspectBackup(file: string): FileContents {
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    assertKnownSchema(source)
    if (integrityFault(source) !== null) throw new NotABackupError('The file is damaged.')
    if (source.prepare('PRAGMA foreign_key_check').get() !== undefined)
      throw new NotABackupError('The file is damaged: rows refer to missing rows.')
    return contentsOf(source)
  } catch (error) {
    if (error instanceof NotABackupError) throw error
    const message = isDamage(error)
      ? 'The file is damaged.'
      : 'The file is not a backup of this service.'
    throw new NotABackupError(message, { cause: error })
  } finally {
    source.close()
  }
}

function assertKnownSchema(source: DatabaseSync): void {
  const names = source.prepare('SELECT name FROM schema_migrations').all()
  const unknown = unknownMigrations(names.map(({ name }) => String(name)))
  if (unknown.some(isUnreleased))
    throw new NotABackupError('The file was made by a build before the first release.')
  if (unknown.length > 0 || names.length === 0)
    throw new NotABackupError('The file was made by a later release.')
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

/** SQLITE_CORRUPT and its extended codes. */
function isDamage(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === 11
}
