import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { challengeNonce } from '@countersign/protocol'
import { Agent, memoryNonceStore, type NonceStore, newKey, Registry } from '@countersign/sdk'
import { Redis } from 'ioredis'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { startRedis } from '../../../test/support/redis.ts'
import { type Cleanup, startTestService, type TestService } from '../../../test/support/service.ts'
import { needs } from '../../../test/support/tools.ts'
import { until } from '../../../test/support/until.ts'
import type { Decision } from '../src/decision/decision.ts'
import { redisNonceStore } from '../src/redis-nonce-store.ts'
import { FRAMEWORKS, type StartApp } from './support/frameworks.ts'
import { type SentAnswer, SHOP, send, signWithNonce } from './support/signing.ts'

// Requests that were accepted before a restart of the gateway, or of its Redis, must not be accepted again after it.

const POST = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'one lamp' }
const OLD_MS = 400_000
const cleanup = fileCleanup()
let service: TestService

before(async () => {
  service = await startTestService(cleanup)
})

/** A site whose clock is moved by tests. */
function site(t: Cleanup, framework = 'Express') {
  const clock = { now: Date.now() }
  const decisions: Decision[] = []
  /** Starts a gateway, as after a restart of the process. */
  const start = (nonces?: NonceStore) =>
    (FRAMEWORKS[framework] as StartApp)(t, {
      service: service.url,
      timeoutMs: 30_000,
      audiences: [SHOP],
      tlsTerminated: true,
      policy: { requireProof: true },
      clock: () => clock.now,
      onDecision: (decision) => decisions.push(decision),
      ...(nonces && { nonces }),
    })
  return { clock, start, last: () => decisions.at(-1) as Decision }
}

/** @param ahead of the clock of the site, in seconds */
async function agentAt(clock: { readonly now: number }, ahead: number) {
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const now = () => clock.now + ahead * 1000
  const key = await newKey()
  const agent = new Agent({ registry, signer: key, audiences: [SHOP], now })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  return { agent, key, did, registry }
}

function assertUnchecked(answer: SentAnswer, decision: Decision, what: string): void {
  const { error } = JSON.parse(answer.text)
  assert.deepEqual(
    [answer.status, error.code, error.reasons[0], decision.signature?.reason],
    [503, 'UNAVAILABLE', 'replay-unchecked', 'replay-unchecked'],
    what,
  )
  const seconds = Number(answer.headers['retry-after'])
  assert.ok(seconds >= 1 && seconds <= 65, what)
  const { 'accept-signature': field } = answer.headers
  assert.match(challengeNonce(503, String(field)) ?? '', /^[\w-]{44}$/, what)
}

for (const ahead of [5, 20, 29]) {
  test(`memory: a copy of an agent ${ahead} s ahead is 503 after each restart, then expired`, async (t) => {
    const { clock, start, last } = site(t)
    const began = memoryNonceStore(undefined, () => clock.now)
    clock.now += OLD_MS
    const { agent } = await agentAt(clock, ahead)
    const before = await start(began)
    const request = await agent.sign(SHOP, POST)
    assert.equal((await send(before, request)).status, 200)
    const accepted = clock.now
    clock.now += 2_000
    // Restarts at different times of its lifetime.
    for (const after of [3, 20, 34, 35, 36, 50, 59 + ahead]) {
      const started = await start()
      clock.now = accepted + after * 1000
      assertUnchecked(await send(started, request), last(), `${after} s`)
      // Never admitted by the same process either.
      assert.equal((await send(started, request)).status, 401)
      assert.equal(last().signature?.reason, 'replay')
    }
    const started = await start()
    clock.now = accepted + (61 + ahead) * 1000
    assert.equal((await send(started, request)).status, 401)
    assert.equal(last().signature?.reason, 'expired')
  })
}

test('memory: one restart, and the copy throughout its lifetime', async (t) => {
  const { clock, start, last } = site(t)
  const { agent } = await agentAt(clock, 29)
  const request = await agent.sign(SHOP, POST)
  clock.now += 2_000
  for (let second = 0; second < 87; second += 6) {
    // Each with a store that started 2 seconds after the request was accepted.
    const now = clock.now
    const store = memoryNonceStore(undefined, () => clock.now)
    const url = await start(store)
    clock.now = now + second * 1000
    assertUnchecked(await send(url, request), last(), `${second} s`)
    clock.now = now
  }
})

test('Redis that was emptied: the copy is 503', needs('redis-server'), async (t) => {
  const redis = await startRedis(t)
  const client = new Redis(redis.url)
  t.after(() => client.disconnect())
  const { clock, start, last } = site(t)
  const options = { timeoutMs: 30_000, now: () => clock.now }
  const openStore = async () => {
    const store = redisNonceStore(client, options)
    await until(async () => (await client.get('countersign:nonce:since')) !== null)
    return store
  }
  const url = await start(await openStore())
  clock.now += OLD_MS
  for (const ahead of [5, 20, 29]) {
    const { agent } = await agentAt(clock, ahead)
    const request = await agent.sign(SHOP, POST)
    assert.equal((await send(url, request)).status, 200)
    // A restart of the gateway alone is none of the memory.
    assert.equal((await send(await start(await openStore()), request)).status, 401)
    clock.now += 2_000
    await client.flushall()
    const again = await start(await openStore())
    assertUnchecked(await send(again, request), last(), `${ahead} s ahead`)
    clock.now += OLD_MS
  }
})

for (const framework of Object.keys(FRAMEWORKS)) {
  test(`${framework}: who signs with the nonce of the refusal is admitted, and its copy is used`, async (t) => {
    const { clock, start, last } = site(t, framework)
    const signer = await agentAt(clock, 29)
    const { agent } = signer
    const url = await start()
    const refused = await send(url, await agent.sign(SHOP, POST))
    assertUnchecked(refused, last(), framework)
    const nonce = challengeNonce(503, String(refused.headers['accept-signature'])) ?? ''
    const signed = await signWithNonce(signer, new Request(SHOP, POST), nonce, clock.now + 29_000)
    assert.equal((await send(url, signed)).status, 200)
    assert.equal((await send(url, signed)).status, 401)
    assert.equal(last().signature?.reason, 'replay')
    const restarted = await start()
    assertUnchecked(await send(restarted, signed), last(), 'after a restart')
    // Safe methods are admitted, and say that they were not checked.
    assert.equal((await send(restarted, await agent.sign(SHOP))).status, 200)
    assert.equal(last().signature?.replay, 'unchecked')
  })
}
