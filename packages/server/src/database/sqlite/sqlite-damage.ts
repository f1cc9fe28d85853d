import type { DatabaseSync } from 'node:sqlite'

/** Primary result codes of a damaged file (sqlite.org/rescode.html). */
const CORRUPT = 11
const NOTADB = 26

/** SQLite cannot read the file. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError'
  readonly found: string

  /** @param found SQLite's message */
  constructor(found: string, options?: ErrorOptions) {
    const words = found.replaceAll(/\s+/g, ' ').trim()
    super(
      `The database file is damaged: ${words}. Restore a backup: countersignd restore <file>.`,
      options,
    )
    this.found = found
  }
}

/** Checks every page of a file. @throws DamagedFileError */
export async function assertIntact(connection: DatabaseSync): Promise<void> {
  const fault = await mapDamageErrors(() => integrityFault(connection))
  if (fault !== null) throw new DamagedFileError(fault)
}

/**
 * Checks every page, and that every index has the rows of its table. `quick_check` leaves out the indexes, in which a
 * flipped bit hides an agent from a revocation, or lets a key be claimed twice.
 * @returns SQLite's message about the first fault, or null
 * @throws an error of SQLite if the file cannot be read
 */
export function integrityFault(connection: DatabaseSync): string | null {
  const verdict = String(connection.prepare('PRAGMA integrity_check(1)').get()?.integrity_check)
  return verdict === 'ok' ? null : verdict
}

/**
 * Turns SQLite's errors about a damaged file into one that says what to do.
 * @throws DamagedFileError, or any other error of `work` unchanged
 */
export async function mapDamageErrors<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const thrown = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const code = errcodeOf(thrown)
    if (code === null || ![CORRUPT, NOTADB].includes(code & 0xff)) throw error
    throw new DamagedFileError((thrown as Error).message, { cause: error })
  }
}

/** The extended result code of an error of SQLite; null for any other error. */
export function errcodeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode : null
}
