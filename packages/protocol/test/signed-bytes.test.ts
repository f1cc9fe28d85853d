import assert from 'node:assert/strict'
import { createHash, createPrivateKey, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import sodium from 'sodium-native'
import {
  challengeMessage,
  claimMessage,
  decodeKey,
  decodeSignature,
  isClaimToken,
  keyOperationMessage,
  namingFor,
  utf8,
} from '../src/index.ts'
import { agentId, claimToken } from './support/arbitraries.ts'
import {
  bytesOf,
  type Case,
  forEachCase,
  hexOf,
  readVectors,
  type TextCase,
  textOf,
} from './support/vectors.ts'

interface Signed extends Case {
  readonly seedHex: string
  readonly publicKey: string
  readonly publicKeyHex: string
  readonly messageHex?: string
  readonly messageSha256?: string
  readonly signature: string
}
const signed = readVectors<{
  claims: (Signed & { claimToken: string; agentId: string; agentIdTimes?: number })[]
  challenges: (Signed & { challenge: string; challengeTimes?: number })[]
  renunciations: (Signed & {
    shortName: string
    service: string
    did: string
    sequence: number
    issuedAt: number
  })[]
}>('signed-bytes.json')
const challenges = readVectors<{
  valid: (TextCase & { bytes: number; messageHex?: string; messageSha256?: string })[]
  invalid: (TextCase & { shortName?: string })[]
}>('challenge.json')

const refusal = { name: 'CodedError', code: 'VALIDATION_ERROR' }

test('a claim signs the token, a pipe and the label: openssl signed the same bytes', () => {
  forEachCase(signed.claims, (each) => {
    const naming = namingFor(each.claimToken.slice(0, each.claimToken.indexOf('-')))
    assert.ok(isClaimToken(naming, each.claimToken))
    const label = each.agentId.repeat(each.agentIdTimes ?? 1)
    assertSigned(each, claimMessage(each.claimToken, label))
  })
})

test('an answer signs the challenge as UTF-8: openssl signed the same bytes', () => {
  forEachCase(signed.challenges, (each) => {
    const text = each.challenge.repeat(each.challengeTimes ?? 1)
    assertSigned(each, challengeMessage(text))
  })
})

test('a renunciation signs the byte 0xFF and its lines: openssl signed the same bytes', () => {
  forEachCase(signed.renunciations, ({ shortName, service, did, sequence, issuedAt, ...each }) => {
    const oldKey = bytesOf(each.publicKeyHex)
    const signed = { service, did, sequence, issuedAt, oldKey, newKey: null }
    const message = keyOperationMessage(namingFor(shortName), { operation: 'renounce', ...signed })
    assertSigned(each, message)
    assert.throws(() => new TextDecoder('utf-8', { fatal: true }).decode(message))
  })
})

function assertSigned(each: Signed, message: Uint8Array): void {
  assertMessage(each, message)
  const key = decodeKey(each.publicKey)
  const signature = decodeSignature(each.signature)
  assert.ok(key && signature)
  assert.equal(hexOf(key), each.publicKeyHex)
  const [s, m, k] = [signature, message, key].map((bytes) => Buffer.from(bytes))
  assert.ok(s && m && k && sodium.crypto_sign_verify_detached(s, m, k))
  assert.deepEqual(sign(null, m, privateKeyOf(each.seedHex)), s)
}

/** PKCS #8 of a seed (RFC 8410 section 7). */
function privateKeyOf(seedHex: string) {
  const der = bytesOf(`302e020100300506032b657004220420${seedHex}`)
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function assertMessage(
  each: { messageHex?: string; messageSha256?: string },
  message: Uint8Array,
): void {
  if (each.messageHex !== undefined) assert.equal(hexOf(message), each.messageHex)
  else assert.equal(createHash('sha256').update(message).digest('hex'), each.messageSha256)
}

test('a challenge is signed as exactly its bytes', () => {
  forEachCase(challenges.valid, (each) => {
    const message = challengeMessage(textOf(each))
    assert.equal(message.length, each.bytes)
    assertMessage(each, message)
  })
})

test('what may not be a challenge is refused before anything is signed', () => {
  forEachCase(challenges.invalid, (each) => {
    assert.throws(() => challengeMessage(textOf(each)), refusal)
  })
})

test('no two pairs of token and label have the same signed bytes', () => {
  fc.assert(
    fc.property(
      claimToken,
      agentId,
      claimToken,
      agentId,
      (token, label, otherToken, otherLabel) => {
        for (const [t, a] of [
          [token, otherLabel],
          [otherToken, label],
          [otherToken, otherLabel],
        ] as const) {
          const same = t === token && a === label
          assert.equal(hexOf(claimMessage(t, a)) === hexOf(claimMessage(token, label)), same)
        }
      },
    ),
    { numRuns: 1000 },
  )
})

test('token and label can be read back from the signed bytes', () => {
  fc.assert(
    fc.property(claimToken, agentId, (token, label) => {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        claimMessage(token, label),
      )
      const pipe = text.indexOf('|')
      assert.equal(text.slice(0, pipe), token)
      assert.equal(text.slice(pipe + 1), label)
    }),
    { numRuns: 500 },
  )
})

test('no answer to a challenge can serve as a signature on a claim', () => {
  fc.assert(
    fc.property(claimToken, agentId, (token, label) => {
      assert.throws(() => challengeMessage(`${token}|${label}`), refusal)
    }),
  )
})

test('a challenge is taken where it is well-formed, without NUL, of 1 to 8,192 bytes', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc
      .tuple(
        fc.constantFrom('a', '\u00e9', '\u20ac', '\u{1f600}'),
        fc.integer({ min: 2040, max: 8200 }),
      )
      .map(([point, times]) => point.repeat(times)),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 4 })
      .map((units) => String.fromCharCode(...units)),
  )
  fc.assert(
    fc.property(text, (some) => {
      const size = Buffer.byteLength(some)
      const expected = some.isWellFormed() && !some.includes('\0') && size >= 1 && size <= 8192
      if (expected) assert.deepEqual(challengeMessage(some), utf8(some))
      else assert.throws(() => challengeMessage(some), refusal)
    }),
    { numRuns: 400 },
  )
})
