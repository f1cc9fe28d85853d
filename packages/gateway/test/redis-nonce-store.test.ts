import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { nonceVectors, playNonceCase } from '../../../test/support/nonce-vectors.ts'
import { startRedis } from '../../../test/support/redis.ts'
import { needs } from '../../../test/support/tools.ts'
import { until } from '../../../test/support/until.ts'
import { redisNonceStore } from '../src/redis-nonce-store.ts'

const nonceOf = (hash: string, createdAt = Date.now()) => ({
  keyid: 'k'.repeat(43),
  nonce: hash.padEnd(22, '-'),
  hash,
  createdAt,
  expiresAt: createdAt + 90_000,
})

/** Long after a memory that began now can tell. */
const LATER_MS = 36_000
/** With patience for a busy machine. */
const PATIENT = { timeoutMs: 30_000 }

async function redisWithClients(t: TestContext, count: number) {
  const redis = await startRedis(t)
  const clients = Array.from({ length: count }, () => new Redis(redis.url))
  t.after(() => clients.map((client) => client.disconnect()))
  return { redis, clients, client: clients[0] as Redis }
}

/** Waits until Redis knows since when it has every nonce. */
async function begun(client: Redis) {
  await until(async () => (await client.get('countersign:nonce:since')) !== null)
}

test('a nonce is fresh for one of several processes', needs('redis-server'), async (t) => {
  const { clients, client } = await redisWithClients(t, 3)
  const stores = clients.map((each) => redisNonceStore(each, PATIENT))
  await begun(client)
  const nonce = nonceOf('one', Date.now() + LATER_MS)
  const outcomes = await Promise.all(stores.map((store) => store.record(nonce)))
  assert.deepEqual(outcomes.sort(), ['fresh', 'used', 'used'])
  assert.equal(await stores[0]?.record(nonceOf('two', Date.now() + LATER_MS)), 'fresh')
  const left = (await client.pttl('countersign:nonce:one')) ?? 0
  assert.ok(left > 0 && left <= 90_000 + LATER_MS, String(left))
})

test(
  'the boot id is shared: a challenge of one process counts at another',
  needs('redis-server'),
  async (t) => {
    const { clients, client } = await redisWithClients(t, 2)
    const [one, two] = clients.map((each) => redisNonceStore(each, PATIENT)) as [Store, Store]
    await until(async () => one.challenge?.() !== null)
    const nonce = { ...nonceOf('three'), nonce: one.challenge?.() ?? '' }
    assert.equal(await two.record(nonceOf('other')), 'unchecked')
    assert.equal(await two.record(nonce), 'fresh')
    assert.equal(await one.record(nonce), 'used')
    // What was captured with it proves nothing once Redis was emptied.
    await client.flushall()
    assert.equal(await one.record(nonce), 'unchecked')
    await begun(client)
    assert.equal(await two.record({ ...nonce, hash: 'another' }), 'unchecked')
  },
)

type Store = ReturnType<typeof redisNonceStore>

for (const each of nonceVectors.cases.filter(({ memoryOnly }) => memoryOnly !== true)) {
  test(`Redis: ${each.name}`, needs('redis-server'), async (t) => {
    const { client } = await redisWithClients(t, 1)
    await playNonceCase(each, async (now) => {
      await client.flushall()
      const store = redisNonceStore(client, { ...PATIENT, now })
      await until(async () => store.challenge?.() !== null)
      return store
    })
  })
}

test('a start that waited until Redis was back, empty, begins anew', async () => {
  const clock = { now: 1_800_000_000_000 }
  const held = new Map<string, string>()
  let set = (key: string, value: string, ...options: unknown[]) => {
    if (options.includes('NX') && held.has(key)) return Promise.resolve<string | null>(null)
    held.set(key, value)
    return Promise.resolve<string | null>('OK')
  }
  const client = {
    get: (key: string) => Promise.resolve(held.get(key) ?? null),
    set: (key: string, value: string, ...options: unknown[]) => set(key, value, ...options),
  }
  const soon = set
  set = (...args) => {
    // As in the offline queue of a client.
    if (args.includes('NX')) clock.now += 60_000
    set = soon
    return soon(...args)
  }
  const store = redisNonceStore(client, { now: () => clock.now })
  await until(async () => store.challenge?.() !== null)
  assert.equal(await store.record(nonceOf('late', clock.now)), 'unchecked')
  assert.equal(store.retryAfterSeconds?.(clock.now), 35)
})

const forever = () => new Promise<never>(() => {})

test('a store that does not answer in time cannot tell', async () => {
  const store = redisNonceStore({ get: forever, set: forever }, { timeoutMs: 1 })
  assert.equal(await store.record(nonceOf('three')), 'unchecked')
})

test('an emptied, full or absent store cannot tell', needs('redis-server'), async (t) => {
  const redis = await startRedis(t)
  const client = new Redis(redis.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0 })
  client.on('error', () => undefined)
  t.after(() => client.disconnect())
  await once(client, 'ready')
  const store = redisNonceStore(client, { timeoutMs: 30_000 })
  await begun(client)
  const outcomeOf = (hash: string) =>
    Promise.resolve(store.record(nonceOf(hash, Date.now() + LATER_MS))).catch(() => 'unchecked')
  assert.equal(await outcomeOf('one'), 'fresh')
  assert.equal(await outcomeOf('one'), 'used')
  await client.flushall()
  assert.equal(await outcomeOf('two'), 'unchecked')
  await begun(client)
  assert.equal(await store.record(nonceOf('a', Date.now() + 30_000)), 'unchecked')
  assert.equal(await outcomeOf('three'), 'fresh')
  await client.config('SET', 'maxmemory', '1')
  assert.equal(await outcomeOf('four'), 'unchecked')
  await client.config('SET', 'maxmemory', '0')
  assert.equal(await outcomeOf('four'), 'fresh')
  await redis.kill()
  assert.equal(await outcomeOf('five'), 'unchecked')
})
