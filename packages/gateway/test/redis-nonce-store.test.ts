import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { startRedis } from '../../../test/support/redis.ts'
import { needs } from '../../../test/support/tools.ts'
import { redisNonceStore } from '../src/redis-nonce-store.ts'

const nonceOf = (hash: string) => ({
  keyid: 'k'.repeat(43),
  hash,
  createdAt: Date.now(),
  expiresAt: Date.now() + 90_000,
})

test(
  'of several processes that record a nonce at once, exactly one is told that it is fresh',
  needs('redis-server'),
  async (t) => {
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
  },
)

test('a store that does not answer in time cannot tell', async () => {
  const store = redisNonceStore({ set: () => new Promise(() => {}) }, { timeoutMs: 1 })
  assert.equal(await store.record(nonceOf('three')), 'unchecked')
})
