import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import { readCases } from '../../../../test/support/vector-files.ts'
import { keyFromJwk, keyFromPem, keyFromText, newKey } from '../../src/keys/keys.ts'
import { pemOf } from '../../src/keys/pkcs8.ts'
import { nodeEd25519, webEd25519 } from '../../src/keys/platform-ed25519.ts'
import { portableEd25519 } from '../../src/keys/portable-ed25519.ts'
import type { PrivateJwk, Signer } from '../../src/keys/signer.ts'
import { failsWith } from '../support/fails.ts'

const MESSAGE = new TextEncoder().encode('hello')

/** Judged by OpenSSL, which has seen nothing of the SDK. */
function openSslTakes({ publicKey }: Signer, message: Uint8Array, signature: Uint8Array) {
  const x = Buffer.from(publicKey).toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, message, key, signature)
}

async function assertSame(signer: Signer, expected: Signer): Promise<void> {
  assert.deepEqual([...signer.publicKey], [...expected.publicKey])
  assert.ok(openSslTakes(expected, MESSAGE, await signer.sign(MESSAGE)))
}

test('a new key signs, and is the same again from PEM, from JWK and from either as text', async () => {
  const key = await newKey()
  assert.ok(openSslTakes(key, MESSAGE, await key.sign(MESSAGE)))
  await assertSame(await keyFromPem(key.pem), key)
  await assertSame(await keyFromJwk(key.jwk), key)
  await assertSame(await keyFromText(key.pem), key)
  await assertSame(await keyFromText(key.pem.replaceAll('\n', '\\n')), key)
  await assertSame(await keyFromText(`\n${JSON.stringify(key.jwk)}\n`), key)
  assert.notDeepEqual((await newKey()).publicKey, key.publicKey)
})

test('PEM is what openssl writes, to the byte, and JWK what node:crypto writes', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const jwk = privateKey.export({ format: 'jwk' }) as PrivateJwk
  const seed = Buffer.from(jwk.d, 'base64url')
  assert.equal(pemOf(seed), pem)
  const signer = await keyFromPem(pem)
  assert.equal(Buffer.from(signer.publicKey).toString('base64url'), jwk.x)
  await assertSame(await keyFromJwk(jwk), signer)
})

test('signatures are those of the vectors, by each implementation', async () => {
  const cases = readCases<{ seedHex: string; messageHex: string; signature: string }>(
    'signed-bytes.json',
    'claims',
  )
  const expected = cases.map(({ signature }) => signature)
  const key = await newKey()
  for (const implementation of [nodeEd25519(), webEd25519, portableEd25519]) {
    assert.ok(implementation)
    const signatures = cases.map(async ({ seedHex, messageHex }) => {
      const seed = Buffer.from(seedHex, 'hex')
      const signer = await implementation.signerOf(seed)
      assert.deepEqual(signer.publicKey, (await keyFromPem(pemOf(seed))).publicKey)
      return Buffer.from(await signer.sign(Buffer.from(messageHex, 'hex'))).toString('base64')
    })
    assert.deepEqual(await Promise.all(signatures), expected)
  }
  assert.ok(openSslTakes(key, MESSAGE, await key.sign(MESSAGE)))
})

test('a key with its public key beside it (RFC 5958, version 2) is read', async () => {
  const key = await newKey()
  const seed = Buffer.from(key.jwk.d, 'base64url')
  const head = Buffer.from('3051020101300506032b657004220420', 'hex')
  const der = Buffer.concat([head, seed, Buffer.from('812100', 'hex'), key.publicKey])
  const pem = `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`
  await assertSame(await keyFromPem(pem), key)
})

test('what is no Ed25519 private key is refused, and no message repeats it', async () => {
  const pem = (pair: { privateKey: { export(options: object): unknown } }) =>
    pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const ed = generateKeyPairSync('ed25519')
  const good = await newKey()
  const encrypted = ed.privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'secret',
  }) as string
  const bad = [
    '',
    'hello',
    '-----BEGIN PRIVATE KEY-----\n\n-----END PRIVATE KEY-----',
    '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
    pem(generateKeyPairSync('x25519')),
    pem(generateKeyPairSync('ed448')),
    pem(generateKeyPairSync('rsa', { modulusLength: 2048 })),
    ed.publicKey.export({ type: 'spki', format: 'pem' }) as string,
    encrypted,
    good.pem.replace('MC4C', 'MC8C'),
    '{',
    '{"kty":"OKP"}',
    JSON.stringify({ ...good.jwk, crv: 'X25519' }),
    JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: good.jwk.x }),
    JSON.stringify({ ...good.jwk, x: (await newKey()).jwk.x }),
    JSON.stringify({ ...good.jwk, d: `${good.jwk.d}=` }),
    JSON.stringify({ ...good.jwk, d: 7 }),
  ]
  for (const text of bad) {
    const { message } = await failsWith('UNUSABLE_KEY', keyFromText(text))
    assert.ok(!message.includes(good.jwk.d))
  }
})
