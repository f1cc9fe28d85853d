import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { startRedis } from '../../../test/support/redis.ts'
import { needs } from '../../../test/support/tools.ts'
import { redisNonceStore } from '../src/redis-nonce-store.ts'

const nonceOf = (hash: string) => ({
  keyid: 'k'.repeat(43),
  hash,
  createdAt: Date.now() + 1000,
  expiresAt: Date.now() + 90_000,
})

test('a nonce is fresh for one of several processes', needs('redis-server'), async (t) => {
  const redis = await startRedis(t)
  const clients = Array.from({ length: 3 }, () => new Redis(redis.url))
  t.after(() => clients.map((client) => client.disconnect()))
  // With patience for a busy machine.
  const stores = clients.map((client) => redisNonceStore(client, { timeoutMs: 30_000 }))
  const nonce = nonceOf('one')
  const outcomes = await Promise.all(stores.map((store) => store.record(nonce)))
  assert.deepEqual(outcomes.sort(), ['fresh', 'used', 'used'])
  assert.equal(await stores[0]?.record(nonceOf('two')), 'fresh')
  const left = (await clients[0]?.pttl('countersign:nonce:one')) ?? 0
  assert.ok(left > 0 && left <= 90_000, String(left))
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
  const outcomeOf = (hash: string) =>
    Promise.resolve(store.record(nonceOf(hash))).catch(() => 'unchecked')
  assert.equal(await outcomeOf('one'), 'fresh')
  assert.equal(await outcomeOf('one'), 'used')
  const before = nonceOf('two')
  await client.flushall()
  assert.equal(await store.record({ ...before, createdAt: Date.now() - 1 }), 'unchecked')
  assert.equal(await outcomeOf('three'), 'fresh')
  await client.config('SET', 'maxmemory', '1')
  assert.equal(await outcomeOf('four'), 'unchecked')
  await client.config('SET', 'maxmemory', '0')
  assert.equal(await outcomeOf('four'), 'fresh')
  await redis.kill()
  assert.equal(await outcomeOf('five'), 'unchecked')
})
