import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { parse } from 'did-resolver'
import {
  type Did,
  didOf,
  didWebOf,
  namingFor,
  parseDidOrTail,
  randomTail,
  TAIL_LENGTH,
  TAIL_PATTERN,
  type Tail,
} from '../src/index.ts'
import { type Case, forEachCase, readVectors } from './support/vectors.ts'

const vectors = readVectors<{
  did: { shortName: string; tail: string; did: string }[]
  didWeb: (Case & { host: string; did: string; didWeb: string })[]
}>('did.json')

const naming = namingFor()

test('a DID is the prefix of the deployment and a tail, and both give back the tail', () => {
  assert.ok(vectors.did.length > 0)
  for (const { shortName, tail, did } of vectors.did) {
    const own = namingFor(shortName)
    assert.equal(didOf(own, tail as Tail), did)
    assert.match(did, own.didPattern)
    assert.equal(parseDidOrTail(own, did), tail)
    assert.equal(parseDidOrTail(own, tail), tail)
  }
})

test('what is neither a DID nor a tail is not read', () => {
  const { invalid } = readVectors<{ invalid: (Case & { value: string })[] }>(
    'identification-header.json',
  )
  forEachCase(invalid, (each) => assert.equal(parseDidOrTail(naming, each.value), null))
})

test('a DID of another deployment is not read', () => {
  const tail = randomTail(randomBytes)
  assert.equal(parseDidOrTail(naming, didOf(namingFor('acme'), tail)), null)
})

test('a random tail has the form of the contract, and so has its DID', () => {
  const tails = Array.from({ length: 200 }, () => randomTail(randomBytes))
  for (const tail of tails) {
    assert.equal(tail.length, TAIL_LENGTH)
    assert.match(tail, TAIL_PATTERN)
    assert.match(didOf(naming, tail), /^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}$/)
  }
  assert.equal(new Set(tails).size, tails.length)
})

test('the did:web form names the host, its port percent-encoded', () => {
  forEachCase(vectors.didWeb, (each) => {
    assert.equal(didWebOf(each.host, each.did as Did), each.didWeb)
  })
})

test('the did:web form is a DID to others, and leads back to host and agent', () => {
  forEachCase(vectors.didWeb, (each) => {
    const parsed = parse(didWebOf(each.host, each.did as Did))
    assert.equal(parsed?.method, 'web')
    const [host, ...path] = parsed.id.split(':').map(decodeURIComponent)
    assert.equal(host, each.host)
    assert.deepEqual(path, ['agent', ...each.did.split(':')])
  })
})
