import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Another process serves the same data. */
export class AlreadyServedError extends Error {
  override readonly name = 'AlreadyServedError'
}

/**
 * Makes sure that one service at a time has a database file. The lock is the operating system's, on a file beside
 * the database, so that it ends with the process, however that ends.
 * @returns releases the lock
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
      'Another countersignd serves this data already. Stop that one, or give this one another DATA_DIR.',
      { cause: error },
    )
  }
  return () => lock.close()
}
