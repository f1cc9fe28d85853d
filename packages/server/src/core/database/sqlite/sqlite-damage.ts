import type { DatabaseSync } from 'node:sqlite'
import { errcodeOf } from './connection.ts'

/** Primary result codes of a file that is not what SQLite has written (sqlite.org/rescode.html). */
const CORRUPT = 11
const NOTADB = 26

/** The file holds what SQLite cannot read. */
class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError'

  /** @param found in SQLite's words */
  constructor(found: string, options?: ErrorOptions) {
    const words = found.replaceAll(/\s+/g, ' ').trim()
    super(
      `The database file is damaged: ${words}. Bring a backup back: countersignd restore <file>.`,
      options,
    )
  }
}

/** Reads a file from its beginning to its end. @throws DamagedFileError */
export async function requireSound(connection: DatabaseSync): Promise<void> {
  const rows = await orDamaged(() => connection.prepare('PRAGMA quick_check(1)').all())
  const verdict = rows[0]?.quick_check
  if (verdict !== 'ok') throw new DamagedFileError(String(verdict))
}

/**
 * Says what to do where SQLite cannot read its file.
 * @throws DamagedFileError, and whatever else `work` throws as it is
 */
export async function orDamaged<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const thrown = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const code = errcodeOf(thrown)
    if (code === null || ![CORRUPT, NOTADB].includes(code & 0xff)) throw error
    throw new DamagedFileError((thrown as Error).message, { cause: error })
  }
}
