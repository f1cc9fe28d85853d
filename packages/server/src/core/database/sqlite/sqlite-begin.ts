import { setTimeout as sleep } from 'node:timers/promises'
import { CompiledQuery } from 'kysely'
import { type Db, StorageFailure } from '../database.ts'

/** How long another process may hold the file before a transaction is given up, and how often it is asked for. */
const PATIENCE_MS = 5000
const PAUSE_MS = 5

/** Primary result code (sqlite.org/rescode.html). */
const BUSY = 5

const BEGIN = CompiledQuery.raw('begin immediate')

/**
 * Begins a transaction that writes, after whoever else writes. SQLite would wait inside of the call: in that time nobody
 * would be answered, and nobody told that it takes too long.
 * @param db a connection whose busy_timeout is 0
 * @throws StorageFailure
 */
export async function beginInTurn(db: Db): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      await db.executeQuery(BEGIN)
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    await sleep(PAUSE_MS)
  }
}

function isBusy(error: unknown): boolean {
  const { errcode } = ((error as StorageFailure | null)?.cause ?? {}) as { errcode?: number }
  return error instanceof StorageFailure && ((errcode ?? 0) & 0xff) === BUSY
}
