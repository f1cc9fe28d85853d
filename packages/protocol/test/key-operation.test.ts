import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import sodium from 'sodium-native'
import {
  challengeMessage,
  decodeKey,
  decodeSignature,
  foreignTextIn,
  isRecoveryToken,
  type KeyOperationKind,
  keyOperationMessage,
  namingFor,
  randomRecoveryToken,
} from '../src/index.ts'
import { type Case, forEachCase, hexOf, readVectors } from './support/vectors.ts'

interface Operation extends Case {
  readonly shortName: string
  readonly operation: KeyOperationKind
  readonly service: string
  readonly did: string
  readonly sequence: number
  readonly oldKey: string | null
  readonly newKey: string | null
  readonly issuedAt: number
  readonly recoveryToken: string | null
}

const vectors = readVectors<{
  valid: (Operation & { messageHex: string; signatures: { old?: string; new?: string } })[]
  invalid: (Operation & { signedHex: string; oldSignature: string })[]
}>('key-operations.json')

function messageOf({ shortName, recoveryToken, oldKey, newKey, ...rest }: Operation): Uint8Array {
  return keyOperationMessage(namingFor(shortName), {
    ...rest,
    oldKey: oldKey === null ? null : decodeKey(oldKey),
    newKey: newKey === null ? null : decodeKey(newKey),
    ...(recoveryToken !== null && { recoveryToken }),
  })
}

function isSigned(key: string | null, message: Uint8Array, signature: string): boolean {
  return sodium.crypto_sign_verify_detached(
    Buffer.from(decodeSignature(signature) ?? []),
    Buffer.from(message),
    Buffer.from(decodeKey(key ?? '') ?? []),
  )
}

test('a key operation signs these bytes: openssl signed the same ones', () => {
  forEachCase(vectors.valid, (each) => {
    const message = messageOf(each)
    assert.equal(hexOf(message), each.messageHex)
    const { old, new: next } = each.signatures
    assert.ok(old !== undefined || next !== undefined)
    if (old !== undefined) assert.ok(isSigned(each.oldKey, message, old))
    if (next !== undefined) assert.ok(isSigned(each.newKey, message, next))
  })
})

test('a signature over other bytes is none', () => {
  forEachCase(vectors.invalid, (each) => {
    const message = messageOf(each)
    assert.notEqual(hexOf(message), each.signedHex)
    assert.ok(isSigned(each.oldKey, Buffer.from(each.signedHex, 'hex'), each.oldSignature))
    assert.ok(!isSigned(each.oldKey, message, each.oldSignature))
  })
})

test('no challenge has the bytes of a key operation, whatever its text', () => {
  for (const each of vectors.valid) {
    const message = messageOf(each)
    assert.throws(() => new TextDecoder('utf-8', { fatal: true }).decode(message))
    const text = new TextDecoder().decode(message.subarray(1))
    if (each.operation === 'rotate' || each.operation === 'recover') {
      assert.equal(foreignTextIn(text)?.kind, 'key-operation')
    }
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 50 }), (text) => {
      fc.pre(text.isWellFormed() && !text.includes('\0') && foreignTextIn(text) === null)
      assert.ok(!challengeMessage(text).includes(0xff))
    }),
  )
})

test('a recovery token is the short name, -recover- and 32 hexadecimal characters', () => {
  const naming = namingFor('acme')
  const token = randomRecoveryToken(naming, (count) => new Uint8Array(count).fill(0xa5))
  assert.equal(token, `acme-recover-${'a5'.repeat(16)}`)
  assert.ok(isRecoveryToken(naming, token))
  for (const text of [`svc${token.slice(4)}`, token.toUpperCase(), `${token}0`, ` ${token}`, '']) {
    assert.ok(!isRecoveryToken(naming, text), text)
  }
})
