import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryNonceStore, type NonceOutcome } from '../../src/index.ts'

const START = 1_800_000_000_000

function storeAt(maxEntries: number) {
  const clock = { now: START }
  const store = memoryNonceStore({ maxEntries, now: () => clock.now })
  const record = (keyid: string, hash: string, lifetime = 60_000, createdAt = clock.now) => {
    const outcome = store.record({ keyid, hash, createdAt, expiresAt: createdAt + lifetime })
    return outcome as NonceOutcome
  }
  return { clock, record }
}

test('a nonce is fresh once, until it expires', () => {
  const { clock, record } = storeAt(100)
  assert.equal(record('k', 'a', 60_000, START), 'fresh')
  assert.equal(record('k', 'a', 60_000, START), 'used')
  clock.now += 60_999
  assert.equal(record('k', 'a', 60_000, START), 'used')
  clock.now += 60_000
  assert.equal(record('k', 'a'), 'fresh')
})

test('requests signed before the store was created are recorded, and said to be unchecked', () => {
  const { record } = storeAt(100)
  assert.equal(record('k', 'a', 60_000, START - 1), 'unchecked')
  assert.equal(record('k', 'a', 60_000, START - 1), 'used')
})

test('one key takes a sixteenth of the store; a full store evicts nothing', () => {
  const { clock, record } = storeAt(160)
  for (let key = 0; key < 16; key++) {
    for (let i = 0; i < 10; i++) assert.equal(record(`k${key}`, `${key}/${i}`), 'fresh')
    assert.equal(record(`k${key}`, `${key}/10`), 'share-exceeded')
  }
  assert.equal(record('another', 'x'), 'unchecked')
  assert.equal(record('k0', '0/0'), 'used')
  assert.equal(record('k15', '15/9'), 'used')
  clock.now += 61_000
  assert.equal(record('another', 'x'), 'fresh')
  for (let i = 0; i < 10; i++) assert.equal(record('k0', `0/${i}`), 'fresh')
  assert.equal(record('k0', '0/10'), 'share-exceeded')
})

test('a clock that goes backwards makes no nonce fresh again', () => {
  const { clock, record } = storeAt(100)
  assert.equal(record('k', 'a', 60_000, START), 'fresh')
  clock.now += 120_000
  assert.equal(record('k', 'b'), 'fresh')
  clock.now = START + 1000
  assert.equal(record('k', 'a', 60_000, START), 'unchecked')
})

test('after a long silence it works on, and has forgotten what expired', () => {
  const { clock, record } = storeAt(16)
  assert.equal(record('k', 'a'), 'fresh')
  clock.now += 365 * 24 * 3_600_000
  assert.equal(record('k', 'b'), 'fresh')
  assert.equal(record('k', 'c'), 'share-exceeded')
})
