import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { namingFor, proveInclusion, randomTail } from '@countersign/protocol'
import { queuedRow } from '../packages/server/src/agents/log-change.ts'
import { insertQueued } from '../packages/server/src/agents/log-queue-table.ts'
import { openServiceKey } from '../packages/server/src/core/crypto/service-keys.ts'
import { openDatabase } from '../packages/server/src/core/database/open-database.ts'
import {
  readHashesFromDatabase,
  TransparencyLog,
} from '../packages/server/src/log/transparency-log.ts'

/*
 * The capacity of the transparency log on SQLite: time and bytes an entry, and the time of a proof.
 * node bench/measure-log.ts [entries]
 */

const entries = Number(process.argv[2] ?? 1_000_000)
const BATCH = 10_000
const PROOFS = 1000
const dataDir = mkdtempSync(join(tmpdir(), 'countersign-log-'))
try {
  const file = join(dataDir, 'countersign.db')
  const db = await openDatabase({ kind: 'sqlite', file }, Date.now)
  const key = await openServiceKey({ db, dataDir }, 'log')
  const naming = namingFor()
  const deps = { db, dataDir, key, naming, host: 'id.example', now: Date.now, randomBytes }
  const log = new TransparencyLog(deps)
  const never = new AbortController().signal
  await log.run(never)
  let seconds = 0
  for (let from = 0; from < entries; from += BATCH) {
    await db.write(async (tx) => {
      for (let i = 0; i < Math.min(BATCH, entries - from); i++)
        await insertQueued(tx, claim(from + i))
    })
    const began = performance.now()
    await log.run(never)
    seconds += (performance.now() - began) / 1000
  }
  const size = log.served?.size ?? 0
  const began = performance.now()
  for (let i = 0; i < PROOFS; i++) {
    const index = Math.floor((i * size) / PROOFS)
    await proveInclusion(index, size, readHashesFromDatabase(db.read, 1, size))
  }
  const proofMs = (performance.now() - began) / PROOFS
  await db.close()
  const bytes = statSync(file).size / size
  console.log(
    JSON.stringify({ size, entriesPerSecond: size / seconds, bytesPerEntry: bytes, proofMs }),
  )
} finally {
  rmSync(dataDir, { recursive: true, force: true })
}

function claim(i: number) {
  const [publicKey, signature, tokenHash] = [32, 64, 32].map((count) => randomBytes(count))
  const text = (bytes: Buffer | undefined) => (bytes as Buffer).toString('base64')
  const evidence = {
    ...{ agentId: 'main', claimTokenHash: text(tokenHash) },
    ...{ publicKey: text(publicKey), signature: text(signature) },
  }
  const agent = {
    ...{ tail: randomTail(randomBytes), owner_id: 1, key_sequence: 1, key_thumbprint: null },
    public_key: publicKey as Buffer,
  }
  const change = { type: 'claimed', grade: 'C' } as const
  return queuedRow(agent, { seq: i + 1, at: Date.now(), by: 'agent', change, evidence })
}
