import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  DID,
  type Line,
  lookupBody,
  refusal,
  startImpostor,
} from '../../../../test/support/impostor.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { Agent } from '../../src/agent.ts'
import { retryAfterOf } from '../../src/http/send-request.ts'
import { newKey } from '../../src/keys/keys.ts'
import { Registry } from '../../src/registry.ts'
import { failsWith } from '../support/fails.ts'

const SOON = { retryBaseMs: 1 }
const good: Line = { body: lookupBody() }
const verification = {
  verified: true,
  signatureValid: true,
  certified: true,
  identityLevel: 'in-person',
  agent: { svcDid: DID, displayName: 'x', status: 'active' },
}

test('reading is tried again after what may pass', async (t) => {
  for (const line of [
    { instead: 'drop' },
    { status: 429, body: refusal('RATE_LIMITED') },
    { status: 500, body: refusal('INTERNAL_ERROR') },
    { status: 503, body: refusal('UNAVAILABLE') },
    { status: 502, body: 'Bad Gateway' },
  ] as const) {
    const { url, asked } = await startImpostor(t, line, line, good)
    assert.equal((await new Registry(url, SOON).lookup(DID)).verified, true)
    assert.equal(asked.length, 3)
  }
})

test('reading is not tried again after what will not pass', async (t) => {
  for (const [code, line] of [
    ['NOT_FOUND', { status: 404, body: refusal('NOT_FOUND') }],
    ['VALIDATION_ERROR', { status: 400, body: refusal('VALIDATION_ERROR') }],
    ['PROTOCOL', { body: '{}' }],
    ['PROTOCOL', { status: 302, headers: { location: '/' } }],
  ] as const) {
    const { url, asked } = await startImpostor(t, line, good)
    await failsWith(code, new Registry(url, SOON).lookup(DID))
    assert.equal(asked.length, 1)
  }
})

test('after so many attempts, the last error is the answer', async (t) => {
  const { url, asked } = await startImpostor(t, { status: 503, body: refusal('UNAVAILABLE') })
  await failsWith('UNAVAILABLE', new Registry(url, { ...SOON, retries: 4 }).lookup(DID))
  assert.equal(asked.length, 5)
})

test('verify is tried again: it changes nothing', async (t) => {
  const { url, asked } = await startImpostor(t, { instead: 'drop' }, { body: verification })
  const registry = new Registry(url, SOON)
  const agent = new Agent({ registry, signer: await newKey() })
  const answer = await agent.answerUnbound('x')
  assert.equal((await registry.verify(answer)).verified, true)
  assert.equal(asked.length, 2)
})

test('a claim is sent once where it may have been processed', async (t) => {
  const token = `svc-verify-${'0'.repeat(32)}`
  for (const line of [
    { instead: 'drop' },
    { status: 500, body: refusal('INTERNAL_ERROR') },
    { status: 503, body: refusal('UNAVAILABLE') },
    { status: 502, body: 'Bad Gateway' },
    { body: '{}' },
  ] as const) {
    const { url, asked } = await startImpostor(t, line)
    const registry = new Registry(url, SOON)
    const agent = new Agent({ registry, signer: await newKey() })
    const error = await failsWith('OUTCOME_UNKNOWN', agent.claim(token))
    assert.ok(error.cause instanceof Error)
    assert.equal(asked.length, 1, JSON.stringify(line))
  }
})

test('a claim is tried again where it certainly was not', async (t) => {
  const token = `svc-verify-${'0'.repeat(32)}`
  const limited = { status: 429, body: refusal('RATE_LIMITED') }
  const claimed = { body: { success: true, message: 'Yes.', svcDid: DID } }
  const { url, asked } = await startImpostor(t, limited, claimed)
  const agent = new Agent({ registry: new Registry(url, SOON), signer: await newKey() })
  assert.equal((await agent.claim(token)).did, DID)
  assert.equal(asked.length, 2)

  let tries = 0
  const nobody = new Registry(`http://127.0.0.1:${await freePort()}`, {
    ...SOON,
    fetch: (input, init) => {
      tries += 1
      return fetch(input, init)
    },
  })
  const other = new Agent({ registry: nobody, signer: await newKey() })
  await failsWith('NETWORK', other.claim(token))
  assert.equal(tries, 3)
  const signal = AbortSignal.abort()
  await failsWith('ABORTED', other.claim(token, 'main', { signal }))
  assert.equal(tries, 3)
})

test('Retry-After is heeded: where it asks for more time than there is, the error comes at once', async (t) => {
  const headers = { 'retry-after': '3600' }
  const limited = { status: 429, body: refusal('RATE_LIMITED'), headers }
  const { url, asked } = await startImpostor(t, limited, good)
  const error = await failsWith('RATE_LIMITED', new Registry(url, SOON).lookup(DID))
  assert.equal(error.retryAfterMs, 3_600_000)
  assert.equal(asked.length, 1)

  const busy = { status: 503, body: refusal('UNAVAILABLE'), headers: { 'retry-after': '1' } }
  const soon = await startImpostor(t, busy, good)
  const waits = t.mock.method(globalThis, 'setTimeout')
  await new Registry(soon.url, SOON).lookup(DID)
  const longest = waits.mock.calls.map(({ arguments: [, ms] }) => Number(ms))
  assert.ok(longest.some((ms) => ms >= 1000 && ms < 1010))
})

test('Retry-After is seconds or a date, and nothing else', () => {
  const now = Date.UTC(2026, 0, 1)
  for (const [text, expected] of [
    ['0', 0],
    [' 120 ', 120_000],
    ['Thu, 01 Jan 2026 00:00:07 GMT', 7_000],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
    ['-1', null],
    ['1.5', null],
    ['soon', null],
    ['', null],
  ] as const) {
    assert.equal(retryAfterOf(new Headers({ 'retry-after': text }), now), expected, text)
  }
  assert.equal(retryAfterOf(new Headers(), now), null)
})

test('the waits are drawn from all of a range that doubles', async (t) => {
  const { url } = await startImpostor(t, { instead: 'drop' })
  const draws = t.mock.method(Math, 'random', () => 0.5)
  const waits = t.mock.method(globalThis, 'setTimeout')
  await failsWith('NETWORK', new Registry(url, { retryBaseMs: 8, retries: 3 }).lookup(DID))
  assert.equal(draws.mock.callCount() >= 3, true)
  const drawn = waits.mock.calls.map(({ arguments: [, ms] }) => ms)
  assert.deepEqual(
    drawn.filter((ms) => [4, 8, 16].includes(Number(ms))),
    [4, 8, 16],
  )
})

test('silence ends: for an attempt, for a call, and by the caller’s own time-out', async (t) => {
  const { url, asked } = await startImpostor(t, { instead: 'hang' }, good)
  const quick = new Registry(url, { ...SOON, attemptTimeoutMs: 1000 })
  assert.equal((await quick.lookup(DID)).verified, true)
  assert.ok(asked.length >= 2)

  const silent = await startImpostor(t, { instead: 'hang' })
  await failsWith('TIMEOUT', new Registry(silent.url, { timeoutMs: 50 }).lookup(DID))
  const signal = AbortSignal.timeout(50)
  await failsWith('TIMEOUT', new Registry(silent.url).lookup(DID, { signal }))
})

test('a body that stops half-way ends too, and so does a fetch that knows no signals', async (t) => {
  const half = await startImpostor(t, { headers: { 'content-length': '1000' }, body: '{' })
  const once = { timeoutMs: 100, retries: 0 }
  await failsWith('TIMEOUT', new Registry(half.url, once).lookup(DID))
  const deaf = new Registry('http://127.0.0.1:1', { ...once, fetch: () => new Promise(() => {}) })
  await failsWith('TIMEOUT', deaf.lookup(DID))
})

test('a caller who gives up while it is waited for a retry is told at once', async (t) => {
  const impostor = await startImpostor(t, { instead: 'drop' })
  t.mock.method(Math, 'random', () => 0.999)
  const registry = new Registry(impostor.url, { retryBaseMs: 10_000 })
  const controller = new AbortController()
  const lookup = failsWith('ABORTED', registry.lookup(DID, { signal: controller.signal }))
  await impostor.untilAsked(1)
  controller.abort()
  await lookup
  assert.equal(impostor.asked.length, 1)
})
