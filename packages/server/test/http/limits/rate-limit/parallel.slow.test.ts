import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { newKey } from '../../../../../../test/support/key.ts'
import { prepareClaims } from '../../../../../../test/support/many-claims.ts'
import { POSTGRES_ONLY } from '../../../../../../test/support/postgres.ts'
import { startRedis } from '../../../../../../test/support/redis.ts'
import { claimBody, startTestService, tempDir } from '../../../../../../test/support/service.ts'
import { needs } from '../../../../../../test/support/tools.ts'
import {
  BEHIND_PROXY,
  claimFrom,
  failToClaim,
  LIMITED,
  leftOf,
  startTwo,
  statuses,
} from './support.ts'

function times<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => make(i)))
}

test('of 100 concurrent wrong signatures for one token, each from another address, ten get 401', async (t) => {
  const service = await startTestService(t, BEHIND_PROXY)
  const owner = await service.operator.addVerifiedOwner()
  const good = claimBody(await service.operator.issueToken(owner))
  const badlySigned = { ...good, signature: newKey().sign('x') }
  const answers = await times(100, (i) => claimFrom(service, badlySigned, `203.0.113.${i}`))
  assert.deepEqual(statuses(answers), { 401: 10, 429: 90 })
})

for (const quota of [1, 10]) {
  test(`honest claims from one address pass, however many come at once, where ${quota} may fail`, async (t) => {
    const service = await startTestService(t, {
      ...LIMITED,
      RATE_LIMITS: `failed-claims=${quota}/h`,
    })
    // With a quota of one they run one after another, and a claim queued for 5 s is rejected.
    const count = quota === 1 ? 32 : 128
    const claims = await prepareClaims(service.operator, count)
    const answers = await Promise.all(claims.map((claim) => claimFrom(service, claim)))
    assert.deepEqual(statuses(answers), { 200: count })
    const failed = await failToClaim(service)
    assert.equal(failed.status, 404)
    assert.equal(leftOf(failed).get('failed-claims')?.get('r'), quota - 1, 'none of them counted')
  })
}

test('a few wrong claims do not block the valid ones beside them', async (t) => {
  const service = await startTestService(t, LIMITED)
  const claims = await prepareClaims(service.operator, 120)
  const answers = await times(128, (i) =>
    i % 16 === 0 ? failToClaim(service) : claimFrom(service, claims[i - Math.ceil(i / 16)]),
  )
  assert.deepEqual(statuses(answers), { 200: 120, 404: 8 })
})

test('claims of disconnected clients do not block others', async (t) => {
  const service = await startTestService(t, { ...LIMITED, RATE_LIMITS: 'failed-claims=1/h' })
  const [used, good] = await prepareClaims(service.operator, 2)
  assert.equal((await claimFrom(service, used)).status, 200)
  const text = JSON.stringify(used)
  const request = `POST /api/v1/claim HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  await times(10, async () => {
    const socket = connect({ host: 'localhost', port: service.settings.port })
    await once(socket, 'connect')
    socket.write(request.repeat(20), () => socket.resetAndDestroy())
    await once(socket, 'close')
  })
  assert.equal((await claimFrom(service, good)).status, 200)
})

test(
  'concurrent wrong claims at several nodes get no more answers than at one node',
  needs('redis-server'),
  async (t) => {
    const redis = await startRedis(t)
    const nodes = await startTwo(t, { REDIS_URL: redis.url })
    const answers = await times(200, (i) => failToClaim(nodes[i % 2 === 0 ? 0 : 1]))
    assert.deepEqual(statuses(answers), { 404: 10, 429: 190 })
  },
)

test('the same with nodes that count in one database', POSTGRES_ONLY, async (t) => {
  const env = { ...LIMITED, DATA_DIR: tempDir(t) }
  const nodes = [await startTestService(t, env), await startTestService(t, env)] as const
  const answers = await times(200, (i) => failToClaim(nodes[i % 2 === 0 ? 0 : 1]))
  assert.deepEqual(statuses(answers), { 404: 10, 429: 190 })
})
