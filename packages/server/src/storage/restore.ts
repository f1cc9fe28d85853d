import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { MIGRATIONS } from './migrations/index.ts'

/** The file is no backup that this release can use. */
export class NotABackupError extends Error {
  override readonly name = 'NotABackupError'
}

/**
 * Puts a backup in the place of the database. What was there is kept beside it.
 * The caller holds the lock of the database, so that nothing serves it meanwhile.
 * @returns the file that holds what was there before, or null
 * @throws NotABackupError, before anything has changed
 */
export async function restoreFile(
  from: string,
  databaseFile: string,
  now: number,
): Promise<string | null> {
  const draft = `${databaseFile}.restoring`
  rmSync(draft, { force: true })
  const source = openBackup(from)
  try {
    await backup(source, draft)
  } finally {
    source.close()
  }
  chmodSync(draft, 0o600)
  const kept = keepPresent(databaseFile, now)
  renameSync(draft, databaseFile)
  return kept
}

function openBackup(file: string): DatabaseSync {
  if (!existsSync(file)) throw new NotABackupError('There is no such file.')
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    const damaged = source.prepare('PRAGMA quick_check(1)').get()?.quick_check !== 'ok'
    if (damaged) throw new NotABackupError('The file is damaged.')
    const names = source.prepare('SELECT name FROM schema_migrations').all()
    const newer = names.some(({ name }) => !MIGRATIONS.some((each) => each.name === name))
    if (newer || names.length === 0) throw new NotABackupError('The file is of another release.')
    return source
  } catch (error) {
    source.close()
    if (error instanceof NotABackupError) throw error
    throw new NotABackupError('The file is no backup of this service.', { cause: error })
  }
}

/** Moves the database aside with what its write-ahead log still holds. */
function keepPresent(databaseFile: string, now: number): string | null {
  if (!existsSync(databaseFile)) return null
  const present = new DatabaseSync(databaseFile)
  try {
    present.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // Damaged, perhaps: that may be why it is replaced. Its log is kept beside it.
  } finally {
    present.close()
  }
  const kept = `${databaseFile}.before-${new Date(now).toISOString().replaceAll(':', '-')}`
  renameSync(databaseFile, kept)
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(databaseFile + suffix)) renameSync(databaseFile + suffix, kept + suffix)
  }
  return kept
}
