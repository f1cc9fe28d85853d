import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { nonceVectors, playNonceCase } from '../../../../test/support/nonce-vectors.ts'
import {
  asksToSignLater,
  challengeNonce,
  memoryNonceStore,
  type NonceOutcome,
} from '../../src/index.ts'

const START = 1_800_000_000_000
const random = () => randomBytes(16).toString('base64url')

for (const each of nonceVectors.cases) {
  test(`memory: ${each.name}`, () =>
    playNonceCase(each, (now, maxEntries) => memoryNonceStore({ maxEntries, now, random })))
}

for (const { name, status, acceptSignature, nonce, later } of nonceVectors.responses) {
  test(`the nonce of a response: ${name}`, () => {
    assert.equal(challengeNonce(status, acceptSignature), nonce)
    assert.equal(asksToSignLater(status, acceptSignature), later)
  })
}

/** A store that started long ago. */
function storeAt(maxEntries: number) {
  const clock = { now: START - 600_000 }
  const store = memoryNonceStore({ maxEntries, now: () => clock.now, random })
  clock.now = START
  const record = (keyid: string, hash: string, lifetime = 60_000, createdAt = clock.now) => {
    const expiresAt = createdAt + lifetime
    return store.record({ keyid, nonce: hash, hash, createdAt, expiresAt }) as NonceOutcome
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

test('after a long silence it works on, and has forgotten what expired', () => {
  const { clock, record } = storeAt(16)
  assert.equal(record('k', 'a'), 'fresh')
  clock.now += 365 * 24 * 3_600_000
  assert.equal(record('k', 'b'), 'fresh')
  assert.equal(record('k', 'c'), 'share-exceeded')
})

test('a clock that is set forward after the start admits nothing from before', () => {
  // The machine started with a clock that was an hour slow; the request was accepted before the start.
  const clock = { now: START - 3_600_000, age: 0 }
  const store = memoryNonceStore({ now: () => clock.now, age: () => clock.age, random })
  clock.now = START
  clock.age = 2_000
  const copy = { keyid: 'k', nonce: 'a', hash: 'a', createdAt: START, expiresAt: START + 60_000 }
  assert.equal(store.record(copy), 'unchecked')
  clock.now += 40_000
  clock.age += 40_000
  const later = { ...copy, nonce: 'b', hash: 'b', createdAt: clock.now }
  assert.equal(store.record(later), 'fresh')
})
