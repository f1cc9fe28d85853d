import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Another process serves the same database file. */
export class AlreadyServedError extends Error {
  override readonly name = 'AlreadyServedError'
}

/**
 * Locks a database file against a second service. The operating system holds the lock, on a file beside the database, so
 * it is released when the process ends, even by `kill -9`.
 * @returns a function that releases the lock
 * @throws AlreadyServedError
 */
export function lockDatabase(databaseFile: string): () => void {
  const lock = new DatabaseSync(`${databaseFile}.lock`, { timeout: 0 })
  chmodSync(`${databaseFile}.lock`, 0o600)
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw new AlreadyServedError(
      'Another countersignd already uses this data. Stop it, or set another DATA_DIR.',
      { cause: error },
    )
  }
  return () => lock.close()
}
