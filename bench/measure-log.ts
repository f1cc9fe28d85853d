import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { namingFor, randomTail } from '@countersign/protocol'
import {
  type LoggedChange,
  loggedChangeOf,
  queueRowOf,
} from '../packages/server/src/agents/changes/changes.ts'
import { insertQueued } from '../packages/server/src/agents/changes/log-queue-table.ts'
import { insertAgent } from '../packages/server/src/agents/claims/claim-table.ts'
import type { Db } from '../packages/server/src/database/database.ts'
import { openDatabase } from '../packages/server/src/database/open-database.ts'
import { TransparencyLog } from '../packages/server/src/log/transparency-log.ts'
import { verifyStored } from '../packages/server/src/log/verify-stored.ts'
import { thumbprintBytes } from '../packages/server/src/secrets/ed25519.ts'
import { openServiceKey } from '../packages/server/src/secrets/service-keys.ts'
import { EFFECTS } from '../packages/server/src/service/effects.ts'
import { HOST } from './http-exchange.ts'
import { cpuSeconds, freePort, startServer } from './process.ts'
import { median } from './rounds.ts'
import { Scope } from './scope.ts'

/*
 * The capacity of the transparency log on SQLite: time and bytes an entry, tiles, and what a service then serves: checkpoints,
 * tiles, bundles of entries and proofs, over HTTP.
 * node bench/measure-log.ts [entries]
 */

const entries = Number(process.argv[2] ?? 1_000_000)
const BATCH = 10_000
/** Every such entry is of an agent that the service can look up. */
const PROVEN_EVERY = 1000
const REQUESTS = 1000
const IN_FLIGHT = 8
const naming = namingFor()
const dataDir = mkdtempSync(join(tmpdir(), 'countersign-log-'))
const scope = new Scope()
try {
  const file = join(dataDir, 'countersign.db')
  const port = await freePort()
  const db = await openDatabase({ kind: 'sqlite', file }, Date.now, EFFECTS)
  const key = await openServiceKey({ db, folders: { keysDir: dataDir, dataDir } }, 'log')
  const host = `${HOST}:${port}`
  const deps = { db, dataDir, key, naming, host, now: Date.now, randomBytes, witnesses: null }
  const log = new TransparencyLog(deps)
  const never = new AbortController().signal
  await log.run(never)
  const owner = await db.write((tx) => insertOwner(tx.db))
  const tails: string[] = []
  let seconds = 0
  for (let from = 0; from < entries; from += BATCH) {
    await db.write(async (tx) => {
      for (let i = from; i < Math.min(from + BATCH, entries); i++) {
        const { row, publicKey } = claim(i)
        await insertQueued(tx, row)
        if (i % PROVEN_EVERY !== 0) continue
        tails.push(row.tail)
        await insertAgent(tx, {
          tail: row.tail,
          owner_id: owner,
          public_key: publicKey,
          key_thumbprint: thumbprintBytes(publicKey),
          agent_id: 'main',
          seq: i + 1,
          claimed_at: Date.now(),
          grade: 'C',
          responsible: null,
        })
      }
    })
    const began = performance.now()
    await log.run(never)
    seconds += (performance.now() - began) / 1000
  }
  const size = log.served?.size ?? 0
  const entryBytes = await averageEntry(db.read)
  const tiles = await tilesOf(db.read)
  const beforeCheck = process.cpuUsage()
  const fault = await verifyStored(db.read)
  if (fault !== null) throw new Error(fault)
  const check = process.cpuUsage(beforeCheck)
  const verifyCpuSeconds = (check.user + check.system) / 1e6
  await db.close()
  const bytesPerEntry = statSync(file).size / size
  console.log(
    JSON.stringify({
      size,
      entriesPerSecond: size / seconds,
      entryBytes,
      bytesPerEntry,
      tiles,
      verifyCpuSeconds,
    }),
  )
  const server = await startServer(scope, {
    args: [resolve(import.meta.dirname, '../packages/server/bin/countersignd.mjs'), 'serve'],
    env: {
      HOST,
      PORT: String(port),
      DATA_DIR: dataDir,
      BASE_URL: `http://${host}`,
      METRICS_PORT: 'off',
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'silent',
      RATE_LIMITS: 'off',
    },
    port,
    core: null,
    until: [{ method: 'GET', path: '/log/checkpoint' }],
  })
  const bundles = Math.floor(size / 256)
  const anyTile = () => tilePath(Math.floor(Math.random() * bundles))
  const served = {
    checkpoint: await load(server, () => '/log/checkpoint'),
    tile: await load(server, () => `/log/tile/0/${anyTile()}`),
    bundle: await load(server, () => `/log/tile/entries/${anyTile()}`),
    proof: await load(
      server,
      () => `/log/proof/${tails[Math.floor(Math.random() * tails.length)]}`,
    ),
  }
  console.log(JSON.stringify(served))
} finally {
  await scope.end()
  rmSync(dataDir, { recursive: true, force: true })
}

function claim(i: number) {
  const [publicKey, signature, tokenHash] = [32, 64, 32].map((count) => randomBytes(count)) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  const evidence = {
    agentId: 'main',
    claimTokenHash: tokenHash.toString('base64'),
    publicKey: publicKey.toString('base64'),
    signature: signature.toString('base64'),
  }
  const agent = {
    tail: randomTail(randomBytes),
    agent_id: 'main',
    owner_id: 1,
    status: 'active',
    grade: 'C',
    key_sequence: 1,
    key_thumbprint: thumbprintBytes(publicKey),
    public_key: publicKey,
    delegation_depth: 0,
  } as const
  const change = { type: 'agent.claimed', evidence } as const
  const told = { change, before: agent, after: agent, seq: i + 1, at: Date.now() }
  return { row: queueRowOf(loggedChangeOf(told) as LoggedChange), publicKey }
}

async function insertOwner(db: Db): Promise<number> {
  const names = {
    kind: 'person',
    username: 'holder',
    display_name: 'Holder',
    username_skeleton: null,
  } as const
  const empty = { user_handle: null, deleted_at: null, suspended_at: null, suspension_reason: null }
  const rest = { name_changed_at: null, badge_copied_at: null, onboarding_hidden_at: null }
  const owner = { id: 1, ...names, ...empty, ...rest, created_at: Date.now() }
  await db.insertInto('owners').values(owner).execute()
  return owner.id
}

async function averageEntry(db: Db): Promise<number> {
  const sample = await db.selectFrom('log_entries').select('entry').limit(1000).execute()
  return sample.reduce((sum, { entry }) => sum + entry.length, 0) / sample.length
}

/** How many tiles of hashes there are, and their bytes. */
async function tilesOf(db: Db): Promise<{ count: number; bytes: number }> {
  const rows = await db.selectFrom('log_tiles').select('hashes').execute()
  return { count: rows.length, bytes: rows.reduce((sum, { hashes }) => sum + hashes.length, 0) }
}

/** The path of a full tile: its number in groups of three digits (C2SP tlog-tiles). */
function tilePath(index: number): string {
  const groups = [String(index % 1000).padStart(3, '0')]
  for (let left = Math.floor(index / 1000); left > 0; left = Math.floor(left / 1000)) {
    groups.unshift(`x${String(left % 1000).padStart(3, '0')}`)
  }
  return groups.join('/')
}

/** Processor time says more than the rate on a machine that does other things as well. */
async function load(
  { port, pid }: { readonly port: number; readonly pid: number },
  path: () => string,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  const times: number[] = []
  let bytes = 0
  const cpuBefore = cpuSeconds(pid) ?? Number.NaN
  const began = performance.now()
  const send = async () => {
    for (let i = 0; i < REQUESTS / IN_FLIGHT; i++) {
      const sent = performance.now()
      const length = await get(port, path(), agent)
      bytes += length
      times.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, send))
  const perSecond = (REQUESTS / (performance.now() - began)) * 1000
  agent.destroy()
  const cpuMs = (((cpuSeconds(pid) ?? Number.NaN) - cpuBefore) / REQUESTS) * 1000
  return { perSecond, cpuMs, medianMs: median(times), bytes: bytes / REQUESTS }
}

/** @returns the length of the body */
function get(port: number, path: string, agent: Agent): Promise<number> {
  return new Promise((done, failed) => {
    const sent = request({ host: HOST, port, path, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const body = Buffer.concat(chunks)
        if (response.statusCode === 200) done(body.length)
        else failed(new Error(`${path}: ${response.statusCode} ${body}`))
      })
    })
    sent.on('error', failed)
    sent.end()
  })
}
