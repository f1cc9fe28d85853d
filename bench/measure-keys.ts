import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { insertRecovery } from '../packages/server/src/agents/keys/key-table.ts'
import { hashToken } from '../packages/server/src/base/hash-token.ts'
import { openDatabase } from '../packages/server/src/database/open-database.ts'
import { EFFECTS } from '../packages/server/src/service/effects.ts'
import { keyOfSeed, newKey, type TestKey } from '../test/support/key.ts'
import { recoveryBody, rotationBody } from '../test/support/key-operations.ts'
import { verifyBody } from '../test/support/refused-posts.ts'
import { type HttpRequest, JSON_TYPE, sendRequest } from './http-exchange.ts'
import { seedOf } from './keys.ts'
import { firstLines } from './lines.ts'
import { runScript } from './load.ts'
import { type MultiProcessKind, startMultiProcess } from './multi-process.ts'
import type { Options } from './options.ts'
import { claimAgent, claimRequest, sendExpecting, signIn } from './owner-client.ts'
import type { Seed } from './seed.ts'
import { prepareClaims } from './seed-claims.ts'
import { type Times, timesOf } from './statistics.ts'
import type { DataCopy } from './stores.ts'
import { BASE_URL, type Bench, startNode } from './systems.ts'

const MEMORY_SCRIPT = import.meta.resolve('./key-memory.ts')
const READY: HttpRequest = { method: 'GET', path: '/readyz' }
const IN_FLIGHT = 32
/** Prepared operations of each kind, for each second of a measurement. */
const PREPARED_PER_SECOND = 500
const ROTATIONS = 100
/** Enough connections that each of two workers has some of them. */
const CONNECTIONS = 8
const OWNER = 1
/** The owner's requests name the service by this. */
const SERVICE = { url: BASE_URL }

/** Operations of one kind, each made once. */
interface Rate {
  readonly operation: 'claim' | 'rotation' | 'recovery'
  readonly count: number
  readonly perSecond: number
}

/** The cost of operations on keys. */
export interface KeyOperations {
  readonly inFlight: number
  readonly rates: readonly Rate[]
  /** From the response to a rotation until the old key verifies at none of two processes. */
  readonly refusal: {
    readonly by: MultiProcessKind
    readonly rotations: number
    readonly times: Times
  }
  /** Bytes that the read model takes more for an agent once its key was replaced. Before that, it stores nothing about keys but the key. */
  readonly memory: { readonly agents: number; readonly replaced: number }
}

/** Measures claims, rotations and recoveries, how soon a replaced key is refused, and what it takes of the memory. */
export async function measureKeys(
  bench: Bench,
  options: Options,
  seed: Seed,
): Promise<KeyOperations> {
  bench.say('claims, rotations and recoveries of keys')
  const rates = await measureRates(bench, options, seed)
  bench.say('refusal of replaced keys by two processes')
  const refusal = await measureRefusal(bench, seed)
  bench.say('memory of replaced keys')
  const { scope, machine } = bench
  const memory = await runScript(scope, machine, { seconds: 60 }, MEMORY_SCRIPT, {})
  return { inFlight: IN_FLIGHT, rates, refusal, memory: memory as KeyOperations['memory'] }
}

async function measureRates(bench: Bench, { seconds }: Options, seed: Seed): Promise<Rate[]> {
  const dir = mkdtempSync(join(bench.dir, 'keys-'))
  const count = seconds * PREPARED_PER_SECOND
  const claims = await prepareClaims(seed, dir, count, 'fresh')
  const copy = await bench.store.copy(claims)
  const settings = { RECOVERY_DELAY: '0' }
  const core = bench.machine.pinned?.server ?? null
  const { port, stop } = await startNode(bench, copy, [READY], { settings, core })
  const keys = Array.from({ length: count }, (_, i) => keyNamed(`claim ${i}`))
  const rotated = keys.map(() => newKey())

  const claimed = await sendAll(port, 'claim', firstLines(claims.file, count).map(claimRequest))
  const dids = claimed.answers.map(({ svcDid }) => svcDid as string)
  const rotations = dids.map((did, i) => {
    const [old, next] = [keys[i], rotated[i]] as [TestKey, TestKey]
    return postOf(
      `/api/v1/agent/${did}/keys`,
      rotationBody(SERVICE, did, { old, next, sequence: 2 }),
    )
  })
  const rotation = await sendAll(port, 'rotation', rotations)
  const recovery = await sendAll(port, 'recovery', await startRecoveries(copy, dids))

  await stop()
  await copy.discard()
  rmSync(dir, { recursive: true, force: true })
  return [claimed.rate, rotation.rate, recovery.rate]
}

/**
 * Puts the tokens of recoveries that take effect at once into the database: the sign-in of owners is not measured.
 * @returns the redemptions
 */
async function startRecoveries(copy: DataCopy, dids: readonly string[]): Promise<HttpRequest[]> {
  const db = await openDatabase(copy.place, Date.now, EFFECTS)
  try {
    const at = Date.now()
    const tokenOf = (i: number) => `svc-recover-${i.toString(16).padStart(32, '0')}`
    const rest = { reason: 'key_lost', started_at: at, token_expires_at: at + 3_600_000 } as const
    await Promise.all(
      dids.map((did, i) =>
        db.write(async (tx) => {
          const token_hash = hashToken(tokenOf(i))
          await insertRecovery(tx, { tail: did.slice(-24), token_hash, ...rest })
        }),
      ),
    )
    return dids.map((did, i) => {
      const redemption = { token: tokenOf(i), next: newKey(), sequence: 3 }
      return postOf(`/api/v1/agent/${did}/recover`, recoveryBody(SERVICE, did, redemption))
    })
  } finally {
    await db.close()
  }
}

async function sendAll(
  port: number,
  operation: Rate['operation'],
  requests: readonly HttpRequest[],
): Promise<{ rate: Rate; answers: Record<string, unknown>[] }> {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  const answers: Record<string, unknown>[] = []
  const rest = requests.entries()
  const started = performance.now()
  const work = async () => {
    for (const [i, request] of rest) answers[i] = await sendExpecting(port, request, 200, agent)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, work))
  const seconds = (performance.now() - started) / 1000
  agent.destroy()
  const { length: count } = requests
  return { rate: { operation, count, perSecond: count / seconds }, answers }
}

/** Rotates the key of one agent at one of two processes, and asks both to verify the old key until both refuse it. */
async function measureRefusal(bench: Bench, seed: Seed): Promise<KeyOperations['refusal']> {
  const by = bench.store.kind === 'postgres' ? 'nodes' : 'workers'
  const two = await startMultiProcess(bench, seed, by, 2)
  const [port] = two.ports as [number]
  const headers = await signIn(two.copy.place, OWNER)
  const did = await claimAgent(port, headers, 'to be rotated')
  const ports = Array.from({ length: CONNECTIONS }, (_, i) => two.ports[i % two.ports.length])
  const observers = ports.map((at) => ({ port: at as number, agent: connection() }))
  const rotating = connection()
  const times: number[] = []
  let old = keyNamed('to be rotated')
  for (let sequence = 2; sequence < ROTATIONS + 2; sequence++) {
    const next = newKey()
    const body = rotationBody(SERVICE, did, { old, next, sequence })
    await sendExpecting(port, postOf(`/api/v1/agent/${did}/keys`, body), 200, rotating)
    const answered = performance.now()
    const verify = postOf('/api/v1/agent/verify', verifyBody(old))
    const refusedAt = await Promise.all(observers.map((each) => untilRefused(each, verify)))
    times.push(Math.max(0, ...refusedAt.map((asked) => asked - answered)))
    old = next
  }
  for (const { agent } of [...observers, { agent: rotating }]) agent.destroy()
  await two.stop()
  return { by, rotations: times.length, times: timesOf(times) }
}

/** @returns when the request was sent that was refused */
async function untilRefused(
  { port, agent }: { readonly port: number; readonly agent: Agent },
  verify: HttpRequest,
): Promise<number> {
  for (;;) {
    const asked = performance.now()
    const { status, body } = await sendRequest(port, verify, agent)
    if (status === 404) return asked
    if (status !== 200) throw new Error(`${verify.path} answered ${status}: ${body}`)
  }
}

function connection(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 })
}

function keyNamed(name: string): TestKey {
  return keyOfSeed(seedOf(name))
}

function postOf(path: string, body: object): HttpRequest {
  return { method: 'POST', path, headers: JSON_TYPE, body: JSON.stringify(body) }
}
