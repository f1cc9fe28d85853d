import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCases } from '../../../../test/support/vector-files.ts'
import { newKey } from '../../src/keys/keys.ts'
import { isSignedChallenge } from '../../src/keys/signed-challenge.ts'
import { isSignature } from '../../src/keys/verify-signature.ts'

interface SignatureCase {
  readonly publicKeyHex: string
  readonly messageHex: string
  readonly signatureHex: string
}

const hex = (text: string) => Buffer.from(text, 'hex')

for (const kind of ['valid', 'invalid'] as const) {
  test(`signatures that are ${kind} to libsodium are ${kind} here`, async () => {
    for (const each of readCases<SignatureCase>('signatures.json', kind)) {
      const { publicKeyHex, messageHex, signatureHex } = each
      const good = await isSignature(hex(publicKeyHex), hex(messageHex), hex(signatureHex))
      assert.equal(good, kind === 'valid', each.name)
    }
  })
}

test('a signed challenge counts by itself; one byte of it changed, it does not', async () => {
  const key = await newKey()
  const challenge = 'hello, é'
  const signature = Buffer.from(await key.sign(Buffer.from(challenge))).toString('base64')
  const answer = { publicKey: Buffer.from(key.publicKey).toString('base64'), challenge, signature }
  assert.equal(await isSignedChallenge(answer), true)
  const other = Buffer.from((await newKey()).publicKey).toString('base64')
  for (const changed of [
    { challenge: 'hello, e\u0301' },
    { challenge: '' },
    { challenge: '\ud800' },
    { publicKey: other },
    { publicKey: `${answer.publicKey} ` },
    { signature: `${signature.slice(0, -2)}` },
    { signature: '' },
  ]) {
    assert.equal(await isSignedChallenge({ ...answer, ...changed }), false)
  }
})

test('a claim that somebody has signed is no signed challenge', async () => {
  const key = await newKey()
  const challenge = `svc-verify-${'0'.repeat(32)}|main`
  const signature = Buffer.from(await key.sign(Buffer.from(challenge))).toString('base64')
  const publicKey = Buffer.from(key.publicKey).toString('base64')
  assert.equal(await isSignedChallenge({ publicKey, challenge, signature }), false)
})
