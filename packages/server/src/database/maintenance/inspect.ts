import { accessSync, constants, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Inspection } from '../database.ts'
import type { DatabaseLocation } from '../open-database.ts'
import { kyselyOver } from '../sqlite/connection.ts'
import { assertIntact, mapDamageErrors } from '../sqlite/sqlite-damage.ts'

/**
 * Inspects the database as it is: nothing is created, migrated or written.
 * @throws DamagedFileError, StorageFailure
 * @throws Error if the file does not exist or is not writable
 */
export async function inspectDatabase<T>(
  place: DatabaseLocation,
  work: (data: Inspection) => Promise<T>,
): Promise<T> {
  if (place.kind === 'sqlite') return inspectFile(place.file, work)
  const { inspectPostgres } = await import('../postgres/postgres-database.ts')
  return inspectPostgres(place.url, work)
}

async function inspectFile<T>(file: string, work: (data: Inspection) => Promise<T>): Promise<T> {
  // The connection below only reads, so it would not notice that the service cannot write.
  accessSync(file, constants.R_OK | constants.W_OK)
  const connection = openUnchanged(file)
  const db = kyselyOver(connection)
  try {
    return await mapDamageErrors(() => work({ db, check: () => assertIntact(connection) }))
  } finally {
    await db.destroy()
    if (connection.isOpen) connection.close()
  }
}

/**
 * Opens read-only if there is a write-ahead log, since a writable connection would checkpoint it on close. Opens writable
 * if there is none, since a read-only connection would leave an empty log behind.
 */
function openUnchanged(file: string): DatabaseSync {
  const readOnly = existsSync(`${file}-wal`)
  const connection = new DatabaseSync(file, { readOnly, timeout: 5000 })
  connection.exec('PRAGMA query_only = ON')
  return connection
}
