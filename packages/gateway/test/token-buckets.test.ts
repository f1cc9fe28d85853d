import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBuckets } from '../src/token-buckets.ts'

test('each key can use its whole bucket at once, then tokens are refilled evenly', () => {
  const buckets = new TokenBuckets({ requests: 3, seconds: 60 })
  assert.deepEqual(
    [1, 2, 3].map(() => buckets.take('a', 0)),
    [0, 0, 0],
  )
  assert.equal(buckets.take('a', 0), 20)
  assert.equal(buckets.take('b', 0), 0)
  assert.equal(buckets.take('a', 19_000), 1)
  assert.equal(buckets.take('a', 20_001), 0)
  assert.equal(buckets.take('a', 20_002), 20)
  assert.deepEqual(
    [1, 2, 3].map(() => buckets.take('a', 10_000_000)),
    [0, 0, 0],
  )
  assert.equal(buckets.take('a', 10_000_000), 20)
})

test('a clock that goes back refills nothing', () => {
  const buckets = new TokenBuckets({ requests: 1, seconds: 10 })
  assert.equal(buckets.take('a', 100_000), 0)
  assert.equal(buckets.take('a', 0), 10)
})

test('the number of buckets is bounded', () => {
  const buckets = new TokenBuckets({ requests: 1, seconds: 60 })
  for (let i = 0; i < 25_000; i++) buckets.take(`key-${i}`, 0)
  assert.equal(buckets.size, 10_000)
  assert.ok(buckets.take('key-24999', 0) > 0)
})
