import assert from 'node:assert/strict'
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import sodium from 'sodium-native'
import {
  jwkOf,
  type KeyFault,
  keyEncodingFault,
  keyFault,
  keyThumbprint,
  multikeyOf,
  type OkpJwk,
} from '../src/index.ts'
import { keyBytes } from './support/arbitraries.ts'
import { bytesOf, type Case, forEachCase, readVectors } from './support/vectors.ts'

type KeyCase = Case & { hex: string }
const keys = readVectors<{ good: KeyCase[]; faulty: (KeyCase & { fault: KeyFault })[] }>(
  'public-keys.json',
)
const { formats } = readVectors<{
  formats: (KeyCase & { jwk: OkpJwk; thumbprint: string; multikey: string })[]
}>('key-formats.json')
type SignatureCase = Case & { publicKeyHex: string; messageHex: string; signatureHex: string }
const signatures = readVectors<{ valid: SignatureCase[]; invalid: SignatureCase[] }>(
  'signatures.json',
)

const isSodiumPoint = (key: Uint8Array) =>
  sodium.crypto_core_ed25519_is_valid_point(Buffer.from(key))

test('a good key has no fault', () => {
  forEachCase(keys.good, (each) => {
    assert.equal(keyFault(bytesOf(each.hex)), null)
    assert.equal(keyEncodingFault(bytesOf(each.hex)), null)
  })
})

test('a faulty key has the fault that it is listed with', () => {
  forEachCase(keys.faulty, (each) => assert.equal(keyFault(bytesOf(each.hex)), each.fault))
})

test('the cheap check finds what is seen in the bytes alone, every small order among it', () => {
  forEachCase(keys.faulty, (each) => {
    const seen = each.fault === 'non-canonical' || each.fault === 'small-order'
    assert.equal(keyEncodingFault(bytesOf(each.hex)), seen ? each.fault : null)
  })
})

test('libsodium agrees on every listed key', () => {
  forEachCase(keys.good, (each) => assert.ok(isSodiumPoint(bytesOf(each.hex))))
  forEachCase(keys.faulty, (each) => assert.equal(isSodiumPoint(bytesOf(each.hex)), false))
})

test('300 honest keys have no fault, and libsodium agrees', () => {
  for (let i = 0; i < 300; i++) {
    const { x } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    const key = Buffer.from(x ?? '', 'base64url')
    assert.equal(keyFault(key), null, key.toString('hex'))
    assert.ok(isSodiumPoint(key), key.toString('hex'))
  }
})

test('libsodium agrees on random bytes, which are seldom a good key', () => {
  fc.assert(
    fc.property(keyBytes, (key) => assert.equal(keyFault(key) === null, isSodiumPoint(key))),
    { numRuns: 200 },
  )
})

test('a signature counts under a key without fault, where libsodium and OpenSSL verify it', () => {
  forEachCase(signatures.valid, (each) => {
    const [key, message, signature] = partsOf(each)
    assert.equal(keyFault(key), null)
    assert.ok(sodium.crypto_sign_verify_detached(signature, message, key))
    assert.ok(verify(null, message, openSslKey(key), signature))
  })
})

test('a forgery fails by the fault of its key or in libsodium, and likewise in OpenSSL', () => {
  forEachCase(signatures.invalid, (each) => {
    const [key, message, signature] = partsOf(each)
    if (keyFault(key) === 'mixed-order') return
    const sodiumTakes =
      signature.length === 64 && sodium.crypto_sign_verify_detached(signature, message, key)
    assert.equal(sodiumTakes, false)
    assert.equal(verify(null, message, openSslKey(key), signature), false)
  })
})

test('a mixed-order key is refused because even a strict verifier takes some of its signatures', () => {
  const mixed = signatures.invalid.filter(
    (each) => keyFault(bytesOf(each.publicKeyHex)) === 'mixed-order',
  )
  const taken = mixed
    .map(partsOf)
    .filter(([k, m, s]) => sodium.crypto_sign_verify_detached(s, m, k))
  assert.ok(taken.length > 0 && taken.length < mixed.length)
})

function partsOf(each: SignatureCase) {
  return [bytesOf(each.publicKeyHex), bytesOf(each.messageHex), bytesOf(each.signatureHex)] as const
}

/** SPKI of a key (RFC 8410 section 4). */
function openSslKey(key: Buffer) {
  const der = Buffer.concat([bytesOf('302a300506032b6570032100'), key])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

test('a key is written as JWK, thumbprint and Multikey as RFC 8037, RFC 7638 and did:key say', () => {
  forEachCase(formats, (each) => {
    const key = bytesOf(each.hex)
    assert.deepEqual(jwkOf(key), each.jwk)
    assert.equal(keyThumbprint(key), each.thumbprint)
    assert.equal(multikeyOf(key), each.multikey)
  })
})

test('every key has a JWK that OpenSSL reads, a SHA-256 thumbprint and a Multikey z6Mk…', () => {
  fc.assert(
    fc.property(keyBytes, (key) => {
      const jwk = jwkOf(key)
      const read = createPublicKey({ key: { ...jwk }, format: 'jwk' })
      assert.deepEqual(read.export({ format: 'jwk' }), { ...jwk })
      const members = JSON.stringify(Object.fromEntries(Object.entries(jwk).sort()))
      assert.equal(keyThumbprint(key), createHash('sha256').update(members).digest('base64url'))
      assert.match(multikeyOf(key), /^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/)
    }),
  )
})
