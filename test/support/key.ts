import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** An agent's key pair, encoded as in requests. */
export interface TestKey {
  /** Base64 of the 32 bytes. */
  readonly publicKey: string
  readonly privateKey: KeyObject
  /** Base64 of the signature over the UTF-8 bytes of a text. */
  sign(text: string): string
}

export function newKey(): TestKey {
  return keyOf(generateKeyPairSync('ed25519').privateKey)
}

/** Derives a key from a seed of 32 bytes. */
export function keyOfSeed(seed: Uint8Array): TestKey {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return keyOf(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
}

function keyOf(privateKey: KeyObject): TestKey {
  const { x } = privateKey.export({ format: 'jwk' })
  return {
    publicKey: Buffer.from(x as string, 'base64url').toString('base64'),
    privateKey,
    sign: (text) => sign(null, Buffer.from(text, 'utf8'), privateKey).toString('base64'),
  }
}
