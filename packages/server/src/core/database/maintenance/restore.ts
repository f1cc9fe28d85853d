import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import {
  asOneFile,
  BESIDE,
  type FileContents,
  inspectBackup,
  NotABackupError,
  removeFile,
} from './backup-file.ts'

export interface Restored {
  readonly contents: FileContents
  /** The file that holds what was there before, or null. */
  readonly kept: string | null
}

/**
 * Puts a backup in the place of the database, where it is sound. What was there is kept beside it.
 * The caller holds the lock of the database, so that nothing serves it meanwhile.
 * @throws NotABackupError, before anything has changed
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
    // Read again where it will be: a disk that is full or failing shows here.
    const contents = inspectBackup(draft)
    const kept = keepPresent(databaseFile, now)
    renameSync(draft, databaseFile)
    makeDurable(dirname(databaseFile))
    return { contents, kept }
  } finally {
    removeFile(draft)
  }
}

/** The names in a directory: without, a power cut may bring the old file back. */
function makeDurable(directory: string): void {
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
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
  asOneFile(draft)
}

/** Moves the database aside with what its write-ahead log still holds, and a log whose file is gone as well. */
function keepPresent(databaseFile: string, now: number): string | null {
  const isThere = existsSync(databaseFile)
  if (isThere) bringLogIn(databaseFile)
  const kept = `${databaseFile}.before-${new Date(now).toISOString().replaceAll(':', '-')}`
  if (isThere) renameSync(databaseFile, kept)
  for (const suffix of BESIDE) {
    if (existsSync(databaseFile + suffix)) renameSync(databaseFile + suffix, kept + suffix)
  }
  return isThere ? kept : null
}

function bringLogIn(databaseFile: string): void {
  const present = new DatabaseSync(databaseFile)
  try {
    present.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Damaged, perhaps: that may be why it is replaced. Its log is kept beside it.
  } finally {
    present.close()
  }
}
