import { newSeed, signerOfSeed } from './ed25519.ts'
import { jwkOfParts, partsOfJwk } from './jwk.ts'
import { asOwn } from './own-signers.ts'
import { pemOf, seedOfPem, unusable } from './pkcs8.ts'
import type { NewKey, PrivateJwk, Signer } from './signer.ts'

/**
 * Makes a key out of the system's randomness. Keep `pem` or `jwk` where only the agent reads it: whoever loses it
 * loses the agent's DID. On Node, Bun and Deno `keyFromFile` of `@countersign/sdk/node` does both.
 */
export async function newKey(): Promise<NewKey> {
  const seed = newSeed()
  const signer = await signerOfSeed(seed)
  return asOwn({ ...signer, pem: pemOf(seed), jwk: jwkOfParts(seed, signer.publicKey) })
}

/**
 * Loads a key from PEM (PKCS#8), as `openssl genpkey -algorithm ed25519` and `countersign keygen` write it.
 * @throws CountersignError UNUSABLE_KEY for what is no Ed25519 private key, or an encrypted one
 */
export async function keyFromPem(pem: string): Promise<Signer> {
  return signerOfSeed(seedOfPem(pem))
}

/**
 * Loads a key from a JWK (RFC 8037): `kty` OKP, `crv` Ed25519, `x` and `d`.
 * @throws CountersignError UNUSABLE_KEY for what is no Ed25519 private key, or where `x` does not belong to `d`
 */
export async function keyFromJwk(jwk: PrivateJwk): Promise<Signer> {
  const { seed, publicKey } = partsOfJwk(jwk)
  const signer = await signerOfSeed(seed)
  if (!publicKey.every((byte, i) => byte === signer.publicKey[i])) {
    throw unusable('In this JWK the public key (x) does not belong to the private one (d).')
  }
  return signer
}

/**
 * Loads a key from a text that is one or the other, such as a secret of a platform: PEM, also with `\n` written out,
 * or a JWK in JSON.
 * @throws CountersignError UNUSABLE_KEY
 */
export async function keyFromText(text: string): Promise<Signer> {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{')) return keyFromPem(trimmed.replaceAll('\\n', '\n'))
  let jwk: PrivateJwk
  try {
    jwk = JSON.parse(trimmed)
  } catch {
    throw unusable('This begins like a JWK and is not JSON.')
  }
  return keyFromJwk(jwk)
}
