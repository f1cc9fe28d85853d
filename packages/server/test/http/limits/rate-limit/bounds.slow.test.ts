import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../../../../test/support/key.ts'
import { prepareClaims } from '../../../../../../test/support/many-claims.ts'
import { freePort } from '../../../../../../test/support/ports.ts'
import { sendRaw } from '../../../../../../test/support/raw-http.ts'
import {
  claimBody,
  openOperator,
  type ServiceProcess,
  startServiceProcess,
  testEnv,
} from '../../../../../../test/support/service.ts'
import { until } from '../../../../../../test/support/until.ts'
import { readSettings } from '../../../../src/base/config.ts'
import { figure, pipeline } from '../overload/support.ts'
import { assertLimited, BEHIND_PROXY, statuses, whileStalled } from './support.ts'

const CONNECTIONS = 40
const CLAIM = '/api/v1/claim'
const OPTIONS = '/api/sign-in/passkey/options'
const WAITING = 'countersign_writes_waiting'

/** Starts a service in a process of its own, so that stalled writes do not block the test. */
async function start(t: TestContext, RATE_LIMITS: string) {
  const METRICS_PORT = String(await freePort())
  const env = { ...(await testEnv(t)), ...BEHIND_PROXY, METRICS_PORT, RATE_LIMITS }
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  return { service: await startServiceProcess(t, env), operator, settings }
}

function requestOf(
  { env }: ServiceProcess,
  path: string,
  body: unknown,
  from: string,
  connection: 'close' | 'keep-alive' = 'close',
): string {
  const text = JSON.stringify(body)
  const lines = [`POST ${path} HTTP/1.1`, `Host: localhost:${env.PORT}`]
  lines.push(`Origin: http://localhost:${env.PORT}`, `Connection: ${connection}`)
  lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`)
  return `${lines.join('\r\n')}\r\nX-Forwarded-For: ${from}\r\n\r\n${text}`
}

/** Sends that many sign-in requests, pipelined over a few connections. */
async function beginSignIns(service: ServiceProcess, froms: readonly string[]) {
  const each = froms.length / CONNECTIONS
  const exchanges = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, i) => {
      const requests = froms
        .slice(i * each, (i + 1) * each)
        .map((from, j) =>
          requestOf(service, OPTIONS, {}, from, j < each - 1 ? 'keep-alive' : 'close'),
        )
      return sendRaw(service.url, requests.join(''), { patienceMs: 30_000 })
    }),
  )
  return exchanges.flatMap(({ answers }) => answers)
}

/** How many requests load shedding has refused: sign-ins, or any request of a process under pressure. */
async function countShed(service: ServiceProcess): Promise<number> {
  const counts = await Promise.all(
    ['sign-ins', 'pressure'].map((each) =>
      figure(service, `countersign_refused_total{reason="${each}"}`),
    ),
  )
  return counts.reduce((sum, each) => sum + (Number.isNaN(each) ? 0 : each), 0)
}

test('of concurrent requests from one address only as many as the quota allows write; the others are rejected at once', (t) =>
  whileStalled(async (stall) => {
    const { service, settings } = await start(t, 'sign-ins=30/h')
    const goOn = await stall(t, settings)
    const since = performance.now()
    const all = beginSignIns(service, Array(400).fill('203.0.113.7'))
    const refused = 'countersign_rate_limited_total{limit="sign-ins"}'
    await until(async () => (await figure(service, refused)) >= 370)
    const waiting = await figure(service, WAITING)
    // For each allowed request a count and, once that times out, the write itself; repeated after a second.
    assert.ok(waiting <= 60 * Math.ceil((performance.now() - since) / 1000), `${waiting} wait`)
    await goOn()
    assert.deepEqual(statuses(await all), { 200: 30, 429: 370 })
  }))

test('past 512 pending queries, from however many addresses, each process counts on its own', (t) =>
  whileStalled(async (stall) => {
    const { service, settings } = await start(t, 'sign-ins=30/h')
    const goOn = await stall(t, settings)
    const froms = Array.from({ length: 600 }, (_, i) => `203.0.${i >> 8}.${i & 255}`)
    const all = beginSignIns(service, froms)
    let most = 0
    let isOver = false
    all.then(() => (isOver = true)).catch(() => undefined)
    // A challenge for a sign-in is not stored, so counting is all that these requests write.
    await until(async () => {
      most = Math.max(most, await figure(service, WAITING))
      return isOver
    }, 60_000)
    // The service itself writes now and then.
    assert.ok(most > 0 && most <= 512 + 10, `${most} counts waited`)
    await goOn()
    // Answered while nothing could be written. On a busy machine, load shedding refuses some with 503.
    const { 200: answered = 0, 503: refused = 0 } = statuses(await all)
    assert.ok(answered > 0)
    assert.equal(answered + refused, 600)
    assert.equal(refused, await countShed(service))
  }))

test('of 300 concurrent wrong claims from one address ten are answered; the others get 429 without being processed', (t) =>
  whileStalled(async (stall) => {
    const { service, operator, settings } = await start(t, 'failed-claims=10/h')
    const [good] = await prepareClaims(operator, 1)
    const badlySigned = { ...good, signature: newKey().sign('x') }
    const unknown = claimBody(`svc-verify-${'0'.repeat(32)}`, newKey())
    const bodies = Array.from({ length: 15 }, (_, i) => (i % 5 === 4 ? badlySigned : unknown))
    // Writes stall until all claims have arrived, so that none is counted before.
    const goOn = await stall(t, settings)
    const all = Promise.all(Array.from({ length: 20 }, () => pipeline(service.url, CLAIM, bodies)))
    await until(async () => (await figure(service, WAITING)) >= 10)
    await goOn()
    const answers = (await all).flat()
    const limited = answers.filter(({ status }) => status === 429)
    // On a busy machine, load shedding refuses some before they are counted.
    const shed = answers.filter(({ status }) => status === 503)
    assert.equal(limited.length + shed.length, 290, JSON.stringify(statuses(answers)))
    assert.ok(limited.length > 0)
    for (const { headers, text } of shed) {
      assert.match(text, /UNAVAILABLE/)
      assert.match(headers.get('retry-after') ?? 'none', /^[1-9]\d*$/)
    }
    for (const answer of limited) assertLimited(answer, 'failed-claims')
    const wrong = ['not_found', 'invalid_signature'].map((outcome) =>
      figure(service, `countersign_claims_total{outcome="${outcome}"}`),
    )
    // An outcome that never occurred has no series.
    const counts = (await Promise.all(wrong)).filter((each) => !Number.isNaN(each))
    assert.equal(
      counts.reduce((sum, each) => sum + each),
      10,
    )
  }))

test('the queue behind slow claims is bounded, with 503 past its limit; queued claims get the quota that is left', (t) =>
  whileStalled(async (stall) => {
    const { service, operator, settings } = await start(t, 'failed-claims=10/h,claims=off')
    const honest = await prepareClaims(operator, 10)
    const wrong = claimBody(`svc-verify-${'0'.repeat(32)}`, newKey())
    const send = async (body: unknown) => {
      const request = requestOf(service, CLAIM, body, '203.0.113.7')
      const { answers } = await sendRaw(service.url, request, { patienceMs: 30_000 })
      if (answers[0]?.status === 503) busy += 1
      return answers
    }
    let busy = 0
    const goOn = await stall(t, settings)
    const first = Promise.all(honest.map(send))
    await until(async () => (await figure(service, 'countersign_inside{limiter="claims"}')) === 10)
    const others = Promise.all(Array.from({ length: 1024 + 50 }, () => send(wrong)))
    await until(async () => busy >= 50)
    assert.equal(
      await figure(service, 'countersign_inside{limiter="claims"}'),
      10,
      'nobody in line',
    )
    await goOn()
    assert.deepEqual(statuses((await first).flat()), { 200: 10 })
    const counts = statuses((await others).flat())
    assert.equal(counts[404], 10)
    // On a busy machine, more than those past the bound get 503: claims that would wait for more than a second do.
    assert.ok((counts[503] ?? 0) >= 50, JSON.stringify(counts))
    assert.equal((counts[429] ?? 0) + (counts[503] ?? 0), 1024 + 50 - 10)
  }))
