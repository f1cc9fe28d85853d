import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Answer } from '../../../../../../test/support/answer.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { freePort } from '../../../../../../test/support/ports.ts'
import { verifyBody } from '../../../../../../test/support/refused-posts.ts'
import {
  claimBody,
  openOperator,
  postJson,
  type ServiceProcess,
  startServiceProcess,
  testEnv,
} from '../../../../../../test/support/service.ts'
import { signedHeaders } from '../../../../../../test/support/sign-request.ts'
import { until } from '../../../../../../test/support/until.ts'
import { readSettings } from '../../../../src/base/config.ts'
import { assertShed, figure, PATIENT, pipeline } from './support.ts'

const VERIFY = '/api/v1/agent/verify'
const VERIFY_REQUEST = '/api/v1/verify-request'
/** Together more than the limit of concurrent verifications. */
const CONNECTIONS = 450
/** As many as a connection may have unanswered. */
const EACH = 16

async function start(t: TestContext) {
  const env = await testEnv(t, { ...PATIENT, MAX_CONNECTIONS_PER_ADDRESS: 'off' })
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const service = await startServiceProcess(t, { ...env, METRICS_PORT: String(await freePort()) })
  const key = newKey()
  const owner = await operator.addVerifiedOwner()
  const response = await postJson(
    `${service.url}/api/v1/claim`,
    claimBody(await operator.issueToken(owner), key),
  )
  const { svcDid: did } = (await response.json()) as { svcDid: string }
  const good = verifyBody(key)
  const bad = { ...good, signature: newKey().sign(good.challenge) }
  const sign = async () => {
    const audience = 'https://shop.example'
    const url = `${audience}/`
    const headers = await signedHeaders({ url: service.url, settings }, did, key, { url })
    return { method: 'GET', url, headers, audience }
  }
  return { service, operator, owner, settings, did, good, bad, sign }
}

test('under too many verifications each gets its correct answer or 503, and every lookup is answered', async (t) => {
  const { service, did, good, bad, sign } = await start(t)
  const signed = await sign()
  const bodiesOf = (forged: unknown, genuine: unknown) =>
    Array.from({ length: EACH }, (_, i) => (i % 3 === 0 ? forged : genuine))
  const challenges = bodiesOf(bad, good)
  const requests = bodiesOf({ ...signed, method: 'HEAD' }, signed)
  let isOver = false
  const lookups: number[] = []
  const lookingUp = (async () => {
    while (!isOver) lookups.push((await fetch(`${service.url}/api/v1/agent/${did}`)).status)
  })()
  const flood = () =>
    Promise.all(
      Array.from({ length: CONNECTIONS }, (_, i) =>
        i % 2 === 0
          ? pipeline(service.url, VERIFY, challenges)
          : pipeline(service.url, VERIFY_REQUEST, requests),
      ),
    )
  let refused = 0
  let verified = 0
  try {
    // On a busy machine, the connections of one flood may not overlap enough.
    for (let round = 0; round < 20 && (refused === 0 || verified === 0); round++) {
      for (const [connection, answers] of (await flood()).entries()) {
        for (const [i, answer] of answers.entries()) {
          if (answer.status === 503) {
            refused += 1
            assertShed(answer)
            continue
          }
          verified += 1
          if (connection % 2 === 1) assertVerdict(answer, i % 3 !== 0)
          else if (i % 3 === 0) assert.equal(answer.status, 401, answer.text)
          else assert.equal(JSON.parse(answer.text).verified, true, answer.text)
        }
      }
    }
  } finally {
    isOver = true
  }
  await lookingUp
  assert.ok(refused > 0, 'there was room for all')
  assert.ok(verified > 0, 'there was room for none')
  assert.ok(lookups.length > 0)
  assert.deepEqual([...new Set(lookups)], [200])
  t.diagnostic(`${refused} of ${refused + verified} refused, ${lookups.length} lookups meanwhile`)
  const counted = await Promise.all(
    ['verifications', 'pressure'].map((reason) =>
      figure(service, `countersign_refused_total{reason="${reason}"}`),
    ),
  )
  assert.equal(
    counted.reduce((sum, count) => sum + count),
    refused,
  )
  await assertWell(service, good)
})

test('requests of disconnected clients release their slots', async (t) => {
  const { service, good } = await start(t)
  const text = JSON.stringify(good)
  const request = `POST ${VERIFY} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  const { hostname, port } = new URL(service.url)
  for (let i = 0; i < CONNECTIONS; i++) {
    const socket = connect({ host: hostname, port: Number(port) })
    await once(socket, 'connect')
    socket.write(request.repeat(EACH), () => socket.resetAndDestroy())
    await once(socket, 'close')
  }
  await assertWell(service, good)
})

test('slow clients hold no slot', async (t) => {
  const { service, good } = await start(t)
  const { hostname, port } = new URL(service.url)
  const half = `POST ${VERIFY} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`
  const slow = await Promise.all(
    Array.from({ length: 2100 }, async () => {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      socket.write(half)
      return socket
    }),
  )
  t.after(() => {
    for (const socket of slow) socket.destroy()
  })
  // A busy machine may refuse some for its pressure. Slots that slow clients held would refuse all.
  for (let i = 0; i < 20; i++) {
    await until(async () => (await postJson(service.url + VERIFY, good)).status === 200, 60_000)
  }
})

/** Asserts the verdict on a signed request, which may expire before it is verified. */
function assertVerdict({ status, text }: Answer, isGenuine: boolean): void {
  assert.equal(status, 200, text)
  const { reason } = JSON.parse(text)
  assert.ok(reason === 'expired' || reason === (isGenuine ? null : 'bad-signature'), text)
}

/** Asserts that all slots are free, and verifications are answered again. */
async function assertWell(service: ServiceProcess, good: unknown): Promise<void> {
  await until(
    async () => (await figure(service, 'countersign_inside{limiter="verifications"}')) === 0,
    60_000,
  )
  for (let i = 0; i < 50; i++) {
    await until(async () => (await postJson(service.url + VERIFY, good)).status === 200, 60_000)
  }
}
