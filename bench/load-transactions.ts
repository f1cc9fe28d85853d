import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { namingFor } from '@countersign/protocol'
import { MINTING } from '../packages/server/src/claims/mint.ts'
import {
  type DatabasePlace,
  openDatabase,
} from '../packages/server/src/core/database/open-database.ts'
import { quantile } from './quantile.ts'

const HASH_BYTES = 32
const KEY_BYTES = 32
const WARM_UP_MS = 500

/** What the script is asked to do: redeem tokens, each once. */
export interface TransactionTask {
  readonly place: DatabasePlace
  /** Hashes of tokens. */
  readonly file: string
  /** The first that has not been used yet. */
  readonly from: number
  readonly most: number
  readonly inFlight: number
  readonly seconds: number
}

export interface Transacted {
  /** Within the measured time. */
  readonly requests: number
  readonly seconds: number
  /** With those of the warm-up. */
  readonly used: number
  readonly p50: number
  readonly p99: number
}

// node load-transactions.ts '<a TransactionTask as JSON>': all that a claim asks of the database, and nothing else.
const task = JSON.parse(process.argv[2] as string) as TransactionTask
const hashes = read(task)
const db = await openDatabase(task.place, Date.now)
const deps = {
  naming: namingFor('svc', 'ServiceID'),
  keyReuse: 'owner',
  now: Date.now,
  randomBytes,
} as const
let used = 0
await claimUntil(performance.now() + WARM_UP_MS)
const started = performance.now()
const times = await claimUntil(started + task.seconds * 1000)
const transacted: Transacted = {
  requests: times.length,
  seconds: (performance.now() - started) / 1000,
  used,
  p50: quantile(times, 0.5),
  p99: quantile(times, 0.99),
}
await db.close()
console.log(`RESULT ${JSON.stringify(transacted)}`)

/** @returns milliseconds from asking for each to its being durable */
async function claimUntil(deadline: number): Promise<number[]> {
  const times: number[] = []
  const worker = async () => {
    while (performance.now() < deadline && used < task.most) {
      const at = used * HASH_BYTES
      used += 1
      const tokenHash = hashes.subarray(at, at + HASH_BYTES)
      const claim = { tokenHash, agentId: 'main', publicKey: randomBytes(KEY_BYTES) }
      const asked = performance.now()
      await db.writeBatched(MINTING, { deps, claim })
      times.push(performance.now() - asked)
    }
  }
  await Promise.all(Array.from({ length: task.inFlight }, worker))
  return times
}

function read({ file, from, most }: TransactionTask): Buffer {
  const bytes = Buffer.alloc(most * HASH_BYTES)
  const fd = openSync(file, 'r')
  readSync(fd, bytes, 0, bytes.length, from * HASH_BYTES)
  closeSync(fd)
  return bytes
}
