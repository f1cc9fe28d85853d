import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLAIM_TOKEN_LIFETIME_MS, isClaimToken, namingFor, randomClaimToken } from '../src/index.ts'
import { bytesOf, type Case, forEachCase, namingOf, readVectors } from './support/vectors.ts'

const vectors = readVectors<{
  valid: (Case & { bytesHex: string; token: string; shortName?: string })[]
  invalid: (Case & { token: string })[]
}>('claim-token.json')

const naming = namingFor()

test('a token is its prefix and 16 random bytes in lower-case hexadecimal', () => {
  forEachCase(vectors.valid, (each) => {
    const source = (count: number) => {
      assert.equal(count, 16)
      return bytesOf(each.bytesHex)
    }
    assert.equal(randomClaimToken(namingOf(each), source), each.token)
    assert.ok(isClaimToken(namingOf(each), each.token))
  })
})

test('nothing else is a token', () => {
  forEachCase(vectors.invalid, (each) => assert.equal(isClaimToken(naming, each.token), false))
})

test('every token that is drawn is one, and tells its bytes apart', () => {
  const sixteen = fc.uint8Array({ minLength: 16, maxLength: 16 })
  fc.assert(
    fc.property(sixteen, (bytes) => {
      const token = randomClaimToken(naming, () => bytes)
      assert.ok(isClaimToken(naming, token))
      assert.equal(token, `svc-verify-${Buffer.from(bytes).toString('hex')}`)
    }),
  )
})

test('a token lives for ten minutes', () => {
  assert.equal(CLAIM_TOKEN_LIFETIME_MS, 600_000)
})
