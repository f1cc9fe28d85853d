import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DID, lookupBody, refusal, startImpostor } from '../../../../test/support/impostor.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { Registry } from '../../src/registry.ts'
import { certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'

const cacheControl = (value: string, more: Record<string, string> = {}) => ({
  headers: { 'cache-control': value, ...more },
  body: lookupBody(),
})
const tagsOf = (asked: readonly { headers: Record<string, unknown> }[]) =>
  asked.map(({ headers }) => headers['if-none-match'])

test('the service is asked anew for each lookup, and answers 304 where nothing has changed', async (t) => {
  const service = await startTestService(t)
  const { did } = await certifiedAgent(service)
  const statuses: number[] = []
  const registry = new Registry(service.url, {
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      statuses.push(response.status)
      return response
    },
  })
  const first = await registry.lookup(did)
  assert.equal(await registry.lookup(did), first)
  assert.deepEqual(statuses, [200, 304])
  const card = await registry.card(did)
  assert.equal(await registry.card(did), card, 'fresh for 30 seconds')
  assert.deepEqual(statuses, [200, 304, 200])
  assert.deepEqual(await registry.card(did, { fresh: true }), card)
  assert.deepEqual(statuses, [200, 304, 200, 304])
  await registry.lookup(did.slice(-24))
  assert.deepEqual(statuses, [200, 304, 200, 304, 304], 'a tail and its DID are one question')
})

test('max-age counts from the answer, less its Age; then the service is asked', async (t) => {
  let now = 1_000_000
  const { url, asked } = await startImpostor(t, cacheControl('public, max-age=30', { age: '10' }))
  const registry = new Registry(url, { now: () => now })
  await registry.lookup(DID)
  now += 19_999
  await registry.lookup(DID)
  assert.equal(asked.length, 1)
  now += 1
  await registry.lookup(DID)
  assert.equal(asked.length, 2)
})

test('what may not be kept is not: no-store, no-cache, Vary: *, no validator', async (t) => {
  for (const [line, tag] of [
    [cacheControl('no-store, max-age=60', { etag: '"a"' }), undefined],
    [cacheControl('max-age=60', { etag: '"a"', vary: '*' }), undefined],
    [cacheControl('no-cache, max-age=60', { etag: '"a"' }), '"a"'],
    [cacheControl('max-age=0', { etag: 'W/"a"' }), 'W/"a"'],
    [cacheControl('max-age=0'), undefined],
    [cacheControl('max-age=junk'), undefined],
    [{ body: lookupBody() }, undefined],
  ] as const) {
    const { url, asked } = await startImpostor(t, line)
    const registry = new Registry(url)
    await registry.lookup(DID)
    await registry.lookup(DID)
    assert.deepEqual(tagsOf(asked), [undefined, tag], JSON.stringify(line))
  }
})

test('a 304 makes an answer fresh again, with the headers that come with it', async (t) => {
  let now = 1_000_000
  const { url, asked } = await startImpostor(t, cacheControl('max-age=0', { etag: '"a"' }), {
    status: 304,
    headers: { 'cache-control': 'max-age=60' },
  })
  const registry = new Registry(url, { now: () => now })
  const first = await registry.lookup(DID)
  now += 5
  assert.equal(await registry.lookup(DID), first)
  assert.deepEqual(registry.originOf(first), { confirmedAt: now, stale: false })
  await registry.lookup(DID)
  assert.deepEqual(tagsOf(asked), [undefined, '"a"'])
})

test('a refusal ends what was kept', async (t) => {
  const { url, asked } = await startImpostor(
    t,
    cacheControl('max-age=0', { etag: '"a"' }),
    { status: 404, body: refusal('NOT_FOUND') },
    { instead: 'drop' },
  )
  const registry = new Registry(url, { retries: 0, staleIfErrorMs: 60_000 })
  await registry.lookup(DID)
  await failsWith('NOT_FOUND', registry.lookup(DID))
  await failsWith('NETWORK', registry.lookup(DID))
  assert.deepEqual(tagsOf(asked), [undefined, '"a"', undefined])
})

test('the cache is bounded: what was not asked for the longest goes first', async (t) => {
  const service = await startTestService(t)
  const { did } = await certifiedAgent(service)
  let asked = 0
  const registry = new Registry(service.url, {
    cacheEntries: 2,
    fetch: (input, init) => {
      asked += 1
      return fetch(input, init)
    },
  })
  const [card, compact, grade] = [
    () => registry.card(did),
    () => registry.compactCard(did),
    () => registry.grade(did),
  ]
  for (const ask of [card, compact, card, grade, card]) await ask()
  assert.equal(asked, 3)
  await compact()
  assert.equal(asked, 4)
  const none = new Registry(service.url, { cacheEntries: 0 })
  assert.notEqual(await none.card(did), await none.card(did))
})

test('an old answer is taken only where that was asked for, within its bound, and says so', async (t) => {
  let now = 1_000_000
  const { url } = await startImpostor(
    t,
    cacheControl('max-age=0, must-revalidate', { etag: '"a"' }),
    { status: 503, body: refusal('UNAVAILABLE') },
    { instead: 'drop' },
  )
  const registry = new Registry(url, { retries: 0, now: () => now })
  const first = await registry.lookup(DID)
  now += 5_000
  await failsWith('UNAVAILABLE', registry.lookup(DID))
  await failsWith('NETWORK', registry.lookup(DID, { staleIfErrorMs: 4_999 }))
  const old = await registry.lookup(DID, { staleIfErrorMs: 5_000 })
  assert.deepEqual(old, first)
  assert.deepEqual(registry.originOf(old), { confirmedAt: 1_000_000, stale: true })
  assert.deepEqual(registry.originOf(first), { confirmedAt: 1_000_000, stale: false })
  assert.equal(registry.originOf({}), null)
  const signal = AbortSignal.abort()
  await failsWith('ABORTED', registry.lookup(DID, { staleIfErrorMs: 5_000, signal }))
})

test('what an agent was before its claim is not kept', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, did, ownerId } = await certifiedAgent(service, registry)
  await registry.card(agent.publicKey)
  const second = await agent.claim(await service.operator.issueToken(ownerId), 'second')
  assert.notEqual(second.did, did)
  const card = await registry.card(agent.publicKey)
  assert.equal(card.did, did)
  assert.ok((registry.originOf(card)?.confirmedAt ?? 0) > 0)
})
