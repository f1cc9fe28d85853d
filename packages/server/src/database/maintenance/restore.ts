import { chmodSync, existsSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { syncPath } from '../../base/durable-file.ts'
import { EPOCH_SETTING } from '../settings-table.ts'
import {
  disableWal,
  type FileContents,
  inspectBackup,
  NotABackupError,
  removeFile,
  SIDE_FILE_SUFFIXES,
} from './backup-file.ts'
import { compareRestored, type Setback } from './compare-restored.ts'

export interface Restored {
  readonly contents: FileContents
  /** The file that the previous database was moved to, or null if there was none. */
  readonly previousFile: string | null
  /** What the previous database had and the backup does not; null: there was none, or it cannot be read. */
  readonly setback: Setback | null
}

/**
 * Replaces the database with a backup, after checking it. Moves the previous database aside.
 * The caller holds the process lock of the database, so that no service uses it meanwhile.
 * @param now milliseconds since the Unix epoch, part of the previous database's new name
 * @throws NotABackupError before anything has changed
 */
export async function restoreFile(
  from: string,
  databaseFile: string,
  now: number,
): Promise<Restored> {
  if (!existsSync(from)) throw new NotABackupError('There is no such file.')
  inspectBackup(from)
  const draft = `${databaseFile}.restoring`
  try {
    removeFile(draft)
    await copyFile(from, draft)
    // Checks the copy too: a full or failing disk shows here.
    const contents = inspectBackup(draft)
    forgetEpoch(draft)
    const previousFile = moveAside(databaseFile, now)
    renameSync(draft, databaseFile)
    syncPath(dirname(databaseFile))
    const setback = previousFile === null ? null : compareRestored(databaseFile, previousFile)
    return { contents, previousFile, setback }
  } finally {
    removeFile(draft)
  }
}

/** What happened after the backup is lost: the next start begins another epoch of the status feed. */
function forgetEpoch(draft: string): void {
  const copy = new DatabaseSync(draft)
  try {
    copy.exec('PRAGMA secure_delete = ON')
    copy.prepare('DELETE FROM settings WHERE name = ?').run(EPOCH_SETTING)
  } finally {
    copy.close()
  }
}

async function copyFile(from: string, draft: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    await backup(source, draft)
  } finally {
    source.close()
  }
  chmodSync(draft, 0o600)
  disableWal(draft)
}

/** Moves the database aside with its side files, even if the database file itself is missing. */
function moveAside(databaseFile: string, now: number): string | null {
  const isThere = existsSync(databaseFile)
  if (isThere) checkpointWal(databaseFile)
  const previousFile = `${databaseFile}.before-${new Date(now).toISOString().replaceAll(':', '-')}`
  if (isThere) renameSync(databaseFile, previousFile)
  for (const suffix of SIDE_FILE_SUFFIXES) {
    if (existsSync(databaseFile + suffix)) renameSync(databaseFile + suffix, previousFile + suffix)
  }
  return isThere ? previousFile : null
}

function checkpointWal(databaseFile: string): void {
  const present = new DatabaseSync(databaseFile)
  try {
    present.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Probably damaged, which may be why it is being replaced. Its log is moved with it.
  } finally {
    present.close()
  }
}
