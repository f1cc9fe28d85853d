import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileCleanup } from '../../../../../test/support/file-cleanup.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { fileOf } from '../../../../../test/support/raw-database.ts'
import { BASE_ENV } from '../../../../../test/support/run.ts'
import {
  COUNTERSIGND,
  claimBody,
  countersignd,
  postJson,
  testEnv,
} from '../../../../../test/support/service.ts'
import { until } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'
import {
  assertNoGap,
  byWorker,
  getOverNewConnection,
  startWithWorkers,
  statusOverNewConnection,
  untilAllAnswer,
  type WorkerService,
  workersOf,
} from './worker-service.ts'

const cleanup = fileCleanup()
let shared: Promise<WorkerService> | undefined

/** The service with three workers of all tests that do not end it. */
async function openService(): Promise<WorkerService> {
  shared ??= startWithWorkers(cleanup, 3, { LOG_LEVEL: 'info' })
  const service = await shared
  await untilAllAnswer(service, 3)
  return service
}

test('every worker serves, on every address of localhost; one log line has the address', async () => {
  const service = await openService()
  assert.equal(workersOf(service).length, 3)
  const { port } = service.settings
  for (const { address, family } of await lookup('localhost', { all: true })) {
    const host = family === 6 ? `[${address}]` : address
    assert.equal((await fetch(`http://${host}:${port}/readyz`)).status, 200)
  }
  const lines = service.output().split('\n')
  const serves = lines.filter((line) => line.includes(`serves http://localhost:${port}`))
  assert.equal(serves.length, 1, service.output())
  assert.match(JSON.parse(serves[0] as string).address, new RegExp(`:${port}$`))
})

test('once a claim is answered every worker knows the agent', async () => {
  const service = await openService()
  const owner = await service.operator.addVerifiedOwner()
  for (let i = 0; i < 20; i++) {
    const token = await service.operator.issueToken(owner)
    const answer = await postJson(`${service.url}/api/v1/claim`, claimBody(token, newKey()))
    const { svcDid: did } = (await answer.json()) as { svcDid: string }
    const asked = Array.from({ length: 3 }, () => statusOverNewConnection(service.url, did))
    assert.deepEqual(await Promise.all(asked), ['active', 'active', 'active'])
  }
})

test('claims and revocations are visible at every worker', async () => {
  const service = await openService()
  const owner = await service.operator.addVerifiedOwner()
  const claim = async () => {
    const token = await service.operator.issueToken(owner)
    const answer = await postJson(`${service.url}/api/v1/claim`, claimBody(token, newKey()))
    return ((await answer.json()) as { svcDid: string }).svcDid
  }
  const allSay = async (did: string, status: string) => {
    const before = byWorker(await service.metrics(), COUNT, LOOKUP)
    const asked = Array.from({ length: 12 }, () => statusOverNewConnection(service.url, did))
    const said = await Promise.all(asked)
    const after = byWorker(await service.metrics(), COUNT, LOOKUP)
    const reached = [...after].filter(([worker, count]) => count > (before.get(worker) ?? 0))
    return reached.length === 3 && said.every((each) => each === status)
  }
  const did = await claim()
  await until(() => allSay(did, 'active'))
  const revoked = await countersignd(service.env, 'agent', 'revoke', did)
  assert.equal(revoked.code, 0, revoked.stderr)
  await until(() => allSay(did, 'revoked'))
})

const COUNT = 'http_request_duration_seconds_count'
const LOOKUP = 'route="/api/v1/agent/'

test('of 25 concurrent claims with one token, one gets a DID; event numbers have no gap', async () => {
  const service = await openService()
  const owner = await service.operator.addVerifiedOwner()
  const claimed = async () =>
    (await assertNoGap(service)).filter((type) => type === 'agent.claimed').length
  const before = await claimed()
  for (let round = 0; round < 10; round++) {
    const token = await service.operator.issueToken(owner)
    const answers = await Promise.all(
      Array.from({ length: 25 }, () =>
        postJson(`${service.url}/api/v1/claim`, claimBody(token, newKey())),
      ),
    )
    const statuses = answers.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [200, ...Array(24).fill(410)])
  }
  const claims = byWorker(await service.metrics(), COUNT, 'route="/api/v1/claim"')
  assert.equal(claims.size, 3, 'every worker has had some of them')
  assert.equal((await claimed()) - before, 10)
})

test(
  'a second service on the same file is rejected with a clear message, and the first keeps running',
  SQLITE_ONLY,
  async (t) => {
    const first = await openService()
    const DATA_DIR = first.env.DATA_DIR as string
    for (const WORKERS of ['1', '2']) {
      const second = await countersignd({ ...(await testEnv(t, { DATA_DIR })), WORKERS }, 'serve')
      assert.equal(second.code, 5)
      assert.match(second.stderr, /Another countersignd already uses this data/)
    }
    assert.equal((await fetch(`${first.url}/readyz`)).status, 200)
  },
)

test('a damaged file is detected before any worker serves', SQLITE_ONLY, async (t) => {
  const env = await testEnv(t)
  const file = fileOf(readSettings(env))
  writeFileSync(file, Buffer.alloc(8192, 0xa5))
  const { code, stderr } = await countersignd({ ...env, WORKERS: '2' }, 'serve')
  const alone = await countersignd(env, 'serve')
  assert.notEqual(code, 0)
  assert.deepEqual([code, stderr], [alone.code, alone.stderr])
})

test('with PORT=0 all workers share the port that the system assigns', async (t) => {
  const env = { ...(await testEnv(t)), PORT: '0', BASE_URL: 'http://localhost:1', WORKERS: '3' }
  const child = spawn(process.execPath, [COUNTERSIGND, 'serve'], {
    env: { ...BASE_ENV, ...env, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let address = ''
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes('serves http')) continue
    address = (JSON.parse(line) as { address: string }).address
    break
  }
  const answers = await Promise.all(
    Array.from({ length: 9 }, () => getOverNewConnection(`${address}/healthz`)),
  )
  assert.ok(answers.every(({ status }) => status === 200))
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
})

test('a port in use and invalid settings end it as without workers', async (t) => {
  const first = await openService()
  const env = { ...(await testEnv(t)), WORKERS: '2' }
  for (const taken of [{ PORT: first.env.PORT }, { METRICS_PORT: first.env.METRICS_PORT }]) {
    const second = await countersignd({ ...env, ...(taken as Record<string, string>) }, 'serve')
    assert.equal(second.code, 5)
    assert.match(second.stderr, /EADDRINUSE.*Set PORT or METRICS_PORT to a free port/)
  }
  const mistaken = await countersignd({ ...env, IDENTITY_PROVIDERS: '/nowhere' }, 'serve')
  assert.equal(mistaken.code, 2)
  assert.match(mistaken.stderr, /IDENTITY_PROVIDERS, the file cannot be read/)
})
