import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { namingFor } from '@countersign/protocol'
import { mintBatch } from '../packages/server/src/agents/claims/mint.ts'
import {
  type DatabaseLocation,
  openDatabase,
} from '../packages/server/src/database/open-database.ts'
import { EFFECTS } from '../packages/server/src/service/effects.ts'
import { quantile } from './statistics.ts'

const HASH_BYTES = 32
const KEY_BYTES = 32
const WARM_UP_MS = 500

/** The task of the load script: redeem each token once. */
export interface TransactionTask {
  readonly place: DatabaseLocation
  /** Hashes of tokens. */
  readonly file: string
  /** The first unused token. */
  readonly from: number
  readonly max: number
  readonly inFlight: number
  readonly seconds: number
}

export interface TransactionResult {
  /** Within the measured time. */
  readonly requests: number
  readonly seconds: number
  /** Including the warm-up. */
  readonly used: number
  readonly p50: number
  readonly p99: number
}

// node load-transactions.ts '<a TransactionTask as JSON>': does only the database work of claims.
const task = JSON.parse(process.argv[2] as string) as TransactionTask
const hashes = read(task)
const db = await openDatabase(task.place, Date.now, EFFECTS)
const deps = {
  naming: namingFor('svc', 'ServiceID'),
  keyReuse: 'owner',
  log: null,
  now: Date.now,
  randomBytes,
} as const
let used = 0
await claimUntil(performance.now() + WARM_UP_MS)
const started = performance.now()
const times = await claimUntil(started + task.seconds * 1000)
const transacted: TransactionResult = {
  requests: times.length,
  seconds: (performance.now() - started) / 1000,
  used,
  p50: quantile(times, 0.5),
  p99: quantile(times, 0.99),
}
await db.close()
console.log(`RESULT ${JSON.stringify(transacted)}`)

/** @returns for each transaction, the milliseconds until it was durable */
async function claimUntil(deadline: number): Promise<number[]> {
  const times: number[] = []
  const worker = async () => {
    while (performance.now() < deadline && used < task.max) {
      const at = used * HASH_BYTES
      used += 1
      const tokenHash = hashes.subarray(at, at + HASH_BYTES)
      const publicKey = randomBytes(KEY_BYTES)
      const claim = { tokenHash, agentId: 'main', publicKey, signature: randomBytes(64) }
      const asked = performance.now()
      await db.writeBatched(mintBatch, { deps, claim })
      times.push(performance.now() - asked)
    }
  }
  await Promise.all(Array.from({ length: task.inFlight }, worker))
  return times
}

function read({ file, from, max }: TransactionTask): Buffer {
  const bytes = Buffer.alloc(max * HASH_BYTES)
  const fd = openSync(file, 'r')
  readSync(fd, bytes, 0, bytes.length, from * HASH_BYTES)
  closeSync(fd)
  return bytes
}
