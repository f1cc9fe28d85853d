import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../../../test/support/postgres.ts'
import { openRaw } from '../../../../../../test/support/raw-database.ts'
import { startRedis } from '../../../../../../test/support/redis.ts'
import {
  claimBody,
  postJson,
  startServiceProcess,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../../test/support/service.ts'
import { needs } from '../../../../../../test/support/tools.ts'
import { until } from '../../../../../../test/support/until.ts'
import {
  deleteFullQuotas,
  quotaResetAt,
  takeFromQuota,
} from '../../../../src/http/limits/rate-count-table.ts'
import { assertLimited, BEHIND_PROXY, failToClaim, LIMITED, leftOf, startTwo } from './support.ts'

/** Fails claims at each node in turn. @returns the remaining quota after each */
async function failInTurn(nodes: readonly TestService[], times: number): Promise<number[]> {
  const left = []
  for (let i = 0; i < times; i++) {
    const answer = await failToClaim(nodes[i % nodes.length] as TestService)
    assert.equal(answer.status, 404, answer.text)
    left.push(leftOf(answer).get('failed-claims')?.get('r') as number)
  }
  return left
}

const DOWN_TO_NONE = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]

test('nodes on one database share their quotas', POSTGRES_ONLY, async (t) => {
  const env = { ...LIMITED, DATA_DIR: tempDir(t) }
  const nodes = [await startTestService(t, env), await startTestService(t, env)]
  assert.deepEqual(await failInTurn(nodes, 10), DOWN_TO_NONE)
  for (const node of nodes) assertLimited(await failToClaim(node), 'failed-claims')
})

test('counts survive a restart', async (t) => {
  const env = { ...LIMITED, DATA_DIR: tempDir(t), RATE_LIMITS: 'failed-claims=3/h' }
  const first = await startTestService(t, env)
  for (let i = 0; i < 3; i++) await failToClaim(first)
  await first.stop()
  assertLimited(await failToClaim(await startTestService(t, env)), 'failed-claims')
})

test('concurrent takes never exceed the quota', async (t) => {
  const service = await startTestService(t, LIMITED)
  const { db } = service.operator
  const key = Buffer.alloc(32, 7)
  const taking = { now: 1_000_000, cost: 60_000 / 7, window: 60_000 }
  const rows = await Promise.all(
    Array.from({ length: 50 }, () => db.write((tx) => takeFromQuota(tx, key, taking))),
  )
  assert.equal(rows.filter(({ taken }) => taken === 1).length, 7)
  const whole = await quotaResetAt(db.read, key)
  assert.ok(Math.abs(whole - 1_060_000) < 0.01)
  // A node whose clock is a little ahead blocks the others for one window at most.
  await db.write((tx) => takeFromQuota(tx, key, { ...taking, now: 1_004_000 }))
  const { taken } = await db.write((tx) => takeFromQuota(tx, key, { ...taking, now: 1_000_001 }))
  assert.equal(taken, 0)
  assert.ok((await quotaResetAt(db.read, key)) <= 1_060_001.01)
  await db.write((tx) => deleteFullQuotas(tx, 1_059_000))
  assert.ok((await quotaResetAt(db.read, key)) > 0)
  await db.write((tx) => deleteFullQuotas(tx, 1_061_000))
  assert.equal(await quotaResetAt(db.read, key), 0)
})

test(
  'nodes with one Redis share their quotas there, and store none in the database',
  needs('redis-server'),
  async (t) => {
    const redis = await startRedis(t)
    const nodes = await startTwo(t, { REDIS_URL: redis.url })
    assert.deepEqual(await failInTurn(nodes, 10), DOWN_TO_NONE)
    for (const node of nodes) assertLimited(await failToClaim(node), 'failed-claims')
    const { db } = nodes[0].operator
    assert.deepEqual(await db.read.selectFrom('rate_counts').selectAll().execute(), [])
  },
)

test(
  'without Redis each node counts on its own and logs it; once Redis is back they share again',
  needs('redis-server'),
  async (t) => {
    const redis = await startRedis(t)
    const [METRICS_PORT, limit] = [String(await freePort()), 'failed-claims=3/h']
    const env = { ...BEHIND_PROXY, REDIS_URL: redis.url, RATE_LIMITS: limit, METRICS_PORT }
    const service = await startServiceProcess(t, { ...env, LOG_LEVEL: 'info' })
    const fail = async (from: string) => {
      const token = `svc-verify-${'0'.repeat(32)}`
      const body = { claimToken: token, agentId: 'x', publicKey: KEY, signature: SIGNATURE }
      const answer = await fetch(`${service.url}/api/v1/claim`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
        body: JSON.stringify(body),
      })
      return answer.status
    }
    const isShared = async () => {
      const text = await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
      return /^countersign_rate_limits_shared 1$/m.test(text)
    }
    let from = ''
    let clients = 0
    // The service connects in the background.
    await until(async () => {
      clients += 1
      from = `2001:db8:${clients.toString(16)}::1`
      assert.equal(await fail(from), 404)
      return isShared()
    })
    await redis.kill()
    // It knows nothing of what was counted in Redis, and goes on at once.
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push(await fail(from))
    assert.deepEqual(statuses, [404, 404, 404, 429])
    assert.ok(!(await isShared()))
    assert.match(service.output(), /rate limits are not shared: each node counts on its own/)
    assert.ok(!service.output().includes(redis.url), 'the URL may hold a password')
    await redis.start()
    await until(async () => {
      await fail(from)
      return isShared()
    })
    assert.match(service.output(), /rate limits are shared by all nodes again/)
  },
)

test('the service starts without Redis', async (t) => {
  const REDIS_URL = `redis://127.0.0.1:${await freePort('127.0.0.1')}`
  const service = await startTestService(t, { ...LIMITED, REDIS_URL })
  for (let i = 0; i < 10; i++) assert.equal((await failToClaim(service)).status, 404)
  assertLimited(await failToClaim(service), 'failed-claims')
})

test(
  'each reason why Redis fails is logged, a wrong password without it',
  needs('redis-server'),
  async (t) => {
    const redis = await startRedis(t, 'the-right-one')
    await redis.kill()
    const PASSWORD = 'not-the-right-one'
    const REDIS_URL = redis.url.replace('//', `//:${PASSWORD}@`)
    const service = await startServiceProcess(t, { ...LIMITED, REDIS_URL, LOG_LEVEL: 'info' })
    const claim = () =>
      postJson(`${service.url}/api/v1/claim`, claimBody(`svc-verify-${'0'.repeat(32)}`))
    assert.equal((await claim()).status, 404)
    const isLogged = async (reason: RegExp) => {
      await claim()
      return reason.test(service.output())
    }
    await until(() =>
      isLogged(/ECONNREFUSED.*rate limits are not shared: each node counts on its own/),
    )
    await redis.start()
    await until(() =>
      isLogged(/WRONGPASS.*rate limits are not shared: each node counts on its own/),
    )
    assert.ok(!service.output().includes(PASSWORD))
  },
)

test('while the database accepts no write, requests are still limited but not blocked', async (t) => {
  const service = await startTestService(t, { ...LIMITED, RATE_LIMITS: 'failed-claims=3/h' })
  const raw = await openRaw(service.settings)
  t.after(() => raw.close())
  await raw.exec('ALTER TABLE rate_counts RENAME TO gone')
  for (let i = 0; i < 3; i++) assert.equal((await failToClaim(service)).status, 404)
  assertLimited(await failToClaim(service), 'failed-claims')
  await raw.exec('ALTER TABLE gone RENAME TO rate_counts')
})

/** The encoded base point, and a well-formed signature. */
const KEY = 'WGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY='
const SIGNATURE = `${'A'.repeat(86)}==`
