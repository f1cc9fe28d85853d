import { accessSync, constants, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Inspection } from '../inspection.ts'
import type { DatabasePlace } from '../open-database.ts'
import { examinePostgres } from '../postgres/postgres-database.ts'
import { kyselyOver } from '../sqlite/connection.ts'
import { orDamaged, requireSound } from '../sqlite/sqlite-damage.ts'

/**
 * Looks at the data as they are: nothing is made, migrated or noted.
 * @throws DamagedFileError, StorageFailure, Error where a file is not there or could not be written
 */
export function examineDatabase<T>(
  place: DatabasePlace,
  work: (data: Inspection) => Promise<T>,
): Promise<T> {
  return place.kind === 'sqlite' ? examineFile(place.file, work) : examinePostgres(place.url, work)
}

async function examineFile<T>(file: string, work: (data: Inspection) => Promise<T>): Promise<T> {
  // It is opened for reading: what the service needs has to be asked for.
  accessSync(file, constants.R_OK | constants.W_OK)
  const connection = openAsItIs(file)
  const db = kyselyOver(connection)
  try {
    return await orDamaged(() => work({ db, check: () => requireSound(connection) }))
  } finally {
    await db.destroy()
    if (connection.isOpen) connection.close()
  }
}

/**
 * What is left in a log stays there, where a connection that may write would bring it into the file as it closes. And one
 * that may not would leave an empty log behind where there was none.
 */
function openAsItIs(file: string): DatabaseSync {
  const readOnly = existsSync(`${file}-wal`)
  const connection = new DatabaseSync(file, { readOnly, timeout: 5000 })
  connection.exec('PRAGMA query_only = ON')
  return connection
}
