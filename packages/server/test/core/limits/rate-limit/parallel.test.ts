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

test('of 100 wrong signatures at once for one token, each from another address, ten are told so', async (t) => {
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
    // Where one may fail they come one after another, and who has been in line for 5 s is sent away.
    const count = quota === 1 ? 32 : 128
    const claims = await prepareClaims(service.operator, count)
    const answers = await Promise.all(claims.map((claim) => claimFrom(service, claim)))
    assert.deepEqual(statuses(answers), { 200: count })
    const failed = await failToClaim(service)
    assert.equal(failed.status, 404)
    assert.equal(leftOf(failed).get('failed-claims')?.get('r'), quota - 1, 'none of them counted')
  })
}

test('a few wrong claims between honest ones hold none of those off', async (t) => {
  const service = await startTestService(t, LIMITED)
  const claims = await prepareClaims(service.operator, 120)
  const answers = await times(128, (i) =>
    i % 16 === 0 ? failToClaim(service) : claimFrom(service, claims[i - Math.ceil(i / 16)]),
  )
  assert.deepEqual(statuses(answers), { 200: 120, 404: 8 })
})

test('claims whose clients have gone keep nobody waiting', async (t) => {
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
  'of wrong claims at several nodes at once no more are told so than one would tell',
  needs('redis-server'),
  async (t) => {
    const redis = await startRedis(t)
    const nodes = await startTwo(t, { REDIS_URL: redis.url })
    const answers = await times(200, (i) => failToClaim(nodes[i % 2 === 0 ? 0 : 1]))
    assert.deepEqual(statuses(answers), { 404: 10, 429: 190 })
  },
)

test('the same where they count in one database', POSTGRES_ONLY, async (t) => {
  const env = { ...LIMITED, DATA_DIR: tempDir(t) }
  const nodes = [await startTestService(t, env), await startTestService(t, env)] as const
  const answers = await times(200, (i) => failToClaim(nodes[i % 2 === 0 ? 0 : 1]))
  assert.deepEqual(statuses(answers), { 404: 10, 429: 190 })
})
