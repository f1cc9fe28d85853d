import { setPriority } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadResult } from './checked-file.ts'
import { assertIntact, DamagedFileError } from './sqlite-damage.ts'

/** 64 MiB: comparing indexes with rows reads pages in no order. */
const CACHE_KIB = 64 * 1024

// On Linux, this is the priority of the thread alone.
if (process.platform === 'linux') setPriority(19)
const connection = new DatabaseSync(workerData, { readOnly: true })
connection.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
parentPort?.postMessage(await check())

async function check(): Promise<ThreadResult> {
  try {
    await assertIntact(connection)
    return 'intact'
  } catch (error) {
    if (error instanceof DamagedFileError) return { fault: error.found }
    throw error
  } finally {
    connection.close()
  }
}
