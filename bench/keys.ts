import { createHash } from 'node:crypto'
import sodium from 'sodium-native'

export interface KeyPair {
  readonly publicKey: Buffer
  readonly secretKey: Buffer
}

/** The 32 bytes from which the key pair of a name is derived. */
export function seedOf(name: string): Buffer {
  return createHash('sha256').update(`countersign bench ${name}`).digest()
}

/** Derives a key pair from a name. */
export function keyPairOf(name: string): KeyPair {
  const seed = seedOf(name)
  const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
  const secretKey = Buffer.alloc(sodium.crypto_sign_SECRETKEYBYTES)
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, seed)
  return { publicKey, secretKey }
}

/** @returns the signature in base64 */
export function signText({ secretKey }: KeyPair, text: string): string {
  const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
  sodium.crypto_sign_detached(signature, Buffer.from(text, 'utf8'), secretKey)
  return signature.toString('base64')
}

/** The body of a claim (contract 4.4). */
export function claimBody(claimToken: string, agentId: string, pair: KeyPair): string {
  const publicKey = pair.publicKey.toString('base64')
  const signature = signText(pair, `${claimToken}|${agentId}`)
  return JSON.stringify({ claimToken, agentId, publicKey, signature })
}
