import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { insertRecovery } from '../packages/server/src/agents/key-recovery-table.ts'
import { readSettings } from '../packages/server/src/config/config.ts'
import { hashToken } from '../packages/server/src/core/crypto/hash-token.ts'
import { newKey, type TestKey } from '../test/support/key.ts'
import { recoveryBody, rotationBody } from '../test/support/key-operations.ts'
import { verifyBody } from '../test/support/refused-posts.ts'
import {
  claimBody,
  type Operator,
  openOperator,
  postJson,
  type ServiceProcess,
  startServiceProcess,
} from '../test/support/service.ts'
import { DURABLE, initCluster, postgresDirectory, query, startPostgres } from './postgres-server.ts'
import { Scope } from './scope.ts'
import { quantile } from './statistics.ts'

/* npx node bench/measure-keys.ts [--count N] [--postgres]: claims, rotations and recoveries per second, signed beforehand; with
 * PostgreSQL also the time from the response to a rotation until the old key verifies nowhere at a second node. */

const IN_FLIGHT = 32

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '2000' },
    postgres: { type: 'boolean', default: false },
  },
})
const count = Number(values.count)
const ends: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => ends.push(end) }
try {
  await main()
} finally {
  for (const end of ends.toReversed()) await end()
}

async function main(): Promise<void> {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'countersign-keys-'))
  ends.push(() => rmSync(DATA_DIR, { recursive: true, force: true }))
  const database: Record<string, string> = values.postgres ? await startDatabase() : {}
  const env = { DATA_DIR, RECOVERY_DELAY: '0', MAX_STALENESS: '2', ...database }
  const node = await startServiceProcess(cleanup, env)
  const operator = await openOperator(readSettings(node.env))
  ends.push(() => operator.close())
  const keys = Array.from({ length: count }, () => newKey())
  const dids = await claims(node, operator, keys)
  const rotated = keys.map(() => newKey())
  const rotations = dids.map((did, i) => ({
    path: `/api/v1/agent/${did}/keys`,
    body: rotationBody(node, did, { old: keyAt(keys, i), next: keyAt(rotated, i), sequence: 2 }),
  }))
  await timed('rotations', node, rotations)
  await recoveries(node, operator, dids)
  if (!values.postgres) return
  const BASE_URL = node.url
  const other = await startServiceProcess(cleanup, { ...env, BASE_URL })
  await visibility(node, other, operator)
}

async function startDatabase() {
  const scope = new Scope()
  ends.push(() => scope.end())
  const dir = postgresDirectory(join(tmpdir(), 'countersign-keys-postgres-'))
  ends.push(() => rmSync(dir, { recursive: true, force: true }))
  initCluster(dir)
  const server = await startPostgres(scope, dir, DURABLE)
  ends.push(() => server.stop())
  await query(`${server.url}/postgres`, 'create database keys')
  return { DATABASE_URL: `${server.url}/keys` }
}

function keyAt(keys: readonly TestKey[], i: number): TestKey {
  return keys[i] as TestKey
}

async function claims(
  node: ServiceProcess,
  operator: Operator,
  keys: readonly TestKey[],
): Promise<string[]> {
  const bodies: object[] = []
  for (const key of keys) {
    const owner = await operator.addVerifiedOwner()
    bodies.push(claimBody(await operator.issueToken(owner), key))
  }
  const requests = bodies.map((body) => ({ path: '/api/v1/claim', body }))
  const answers = await timed('claims', node, requests)
  return answers.map((answer) => (JSON.parse(answer) as { svcDid: string }).svcDid)
}

/** Redemptions that take effect at once. Their tokens are put into the database: signing owners in is another measurement. */
async function recoveries(node: ServiceProcess, operator: Operator, dids: readonly string[]) {
  const at = Date.now()
  const requests: { path: string; body: object }[] = []
  for (const [i, did] of dids.entries()) {
    const token = `svc-recover-${i.toString(16).padStart(32, '0')}`
    await operator.db.write(async (tx) => {
      const stored = { token_hash: hashToken(token), token_expires_at: at + 3_600_000 }
      const tail = did.slice(-24)
      await insertRecovery(tx, { tail, reason: 'key_lost', started_at: at, ...stored })
    })
    const body = recoveryBody(node, did, { token, next: newKey(), sequence: 3 })
    requests.push({ path: `/api/v1/agent/${did}/recover`, body })
  }
  await timed('recoveries', node, requests)
}

async function timed(
  name: string,
  node: ServiceProcess,
  requests: readonly { readonly path: string; readonly body: object }[],
): Promise<string[]> {
  const answers: string[] = []
  const started = performance.now()
  let next = 0
  const worker = async () => {
    for (let i = next++; i < requests.length; i = next++) {
      const { path, body } = requests[i] as (typeof requests)[number]
      const response = await postJson(node.url + path, body)
      answers[i] = await response.text()
      if (response.status !== 200) throw new Error(`${name}: ${response.status} ${answers[i]}`)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  const seconds = (performance.now() - started) / 1000
  console.log(`${name}: ${Math.round(requests.length / seconds)}/s, ${IN_FLIGHT} in flight`)
  return answers
}

/** Polls a second node with the old key from the response to each rotation on. */
async function visibility(node: ServiceProcess, other: ServiceProcess, operator: Operator) {
  const owner = await operator.addVerifiedOwner()
  const token = await operator.issueToken(owner)
  let old = newKey()
  const claimed = await postJson(`${node.url}/api/v1/claim`, claimBody(token, old))
  const { svcDid: did } = (await claimed.json()) as { svcDid: string }
  const times: number[] = []
  for (let sequence = 2; sequence < 302; sequence++) {
    const next = newKey()
    const body = rotationBody(node, did, { old, next, sequence })
    const verify = () => postJson(`${other.url}/api/v1/agent/verify`, verifyBody(old))
    const response = await postJson(`${node.url}/api/v1/agent/${did}/keys`, body)
    if (response.status !== 200) throw new Error(await response.text())
    const answered = performance.now()
    for (;;) {
      const asked = performance.now()
      if ((await verify()).status !== 404) continue
      times.push(Math.max(0, asked - answered))
      break
    }
    old = next
  }
  const show = (share: number) => quantile(times, share).toFixed(1)
  console.log(
    `old key refused by a second node, ms after the response: p50 ${show(0.5)}, p99 ${show(0.99)}, longest ${Math.max(...times).toFixed(1)} (${times.length} rotations)`,
  )
}
