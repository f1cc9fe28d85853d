import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Challenge,
  challengeMessage,
  foreignTextIn,
  formatChallenge,
  namingFor,
  parseChallenge,
  utf8,
} from '../src/index.ts'
import { type Case, forEachCase, namingOf, readVectors } from './support/vectors.ts'

interface ChallengeCase extends Case {
  readonly shortName?: string
}
const vectors = readVectors<{
  valid: (ChallengeCase & Challenge & { text: string })[]
  invalid: (ChallengeCase & { text: string })[]
  invalidParts: (ChallengeCase & Challenge)[]
}>('named-challenge.json')

test('a challenge names its audience and carries its nonce, and is read back as it was written', () => {
  forEachCase(vectors.valid, (each) => {
    const { audience, nonce, text } = each
    assert.equal(formatChallenge(namingOf(each), { audience, nonce }), text)
    assert.deepEqual(parseChallenge(namingOf(each), text), { audience, nonce })
  })
})

test('a challenge of this form can be signed: it could not be signed bytes of another purpose', () => {
  forEachCase(vectors.valid, ({ text }) => {
    assert.deepEqual(challengeMessage(text), utf8(text))
    assert.equal(foreignTextIn(text), null)
  })
})

test('what has another form is not read', () => {
  forEachCase(vectors.invalid, (each) => {
    assert.equal(parseChallenge(namingOf(each), each.text), null)
  })
})

test('nothing is written that could not be read back', () => {
  forEachCase(vectors.invalidParts, (each) => {
    assert.throws(() => formatChallenge(namingOf(each), each), RangeError)
  })
})

const shortName = fc.stringMatching(/^[a-z][a-z0-9]{0,15}$/)
const audience = fc
  .webAuthority({ withPort: true })
  .map((host) => new URL(`https://${host}`).origin)
const nonce = fc.stringMatching(/^[A-Za-z0-9_-]{22,128}$/)

test('every audience and nonce come back, under their own short name alone', () => {
  fc.assert(
    fc.property(shortName, shortName, audience, nonce, (own, other, audience, nonce) => {
      const text = formatChallenge(namingFor(own), { audience, nonce })
      assert.deepEqual(parseChallenge(namingFor(own), text), { audience, nonce })
      assert.equal(parseChallenge(namingFor(other), text) !== null, own === other)
      assert.deepEqual(challengeMessage(text), utf8(text))
    }),
    { numRuns: 500 },
  )
})

test('whatever is read is written as the same text', () => {
  const near = fc
    .tuple(fc.constantFrom('', ' ', 'https://id.example', 'http:'), fc.string(), nonce)
    .map(([start, middle, end]) => `svc-challenge-v1:${start}${middle}:${end}`)
  fc.assert(
    fc.property(near, (text) => {
      const read = parseChallenge(namingFor(), text)
      if (read !== null) assert.equal(formatChallenge(namingFor(), read), text)
    }),
    { numRuns: 1000 },
  )
})
