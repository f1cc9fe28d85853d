import { decodeKey, encodeBase64Url } from '@countersign/protocol'
import { asTrusted, newSeed, signerOfSeed } from './ed25519.ts'
import { pemOf, seedOfPem, unusable } from './pkcs8.ts'
import type { NewKey, PrivateJwk, Signer } from './signer.ts'

/**
 * Generates a key. Store `pem` or `jwk` as a secret: without it, the owner has to recover the DID.
 * On Node, Bun and Deno, `keyFromFile` of `@countersign/sdk/node` does both.
 */
export async function newKey(): Promise<NewKey> {
  const seed = newSeed()
  const signer = await signerOfSeed(seed)
  return asTrusted({ ...signer, pem: pemOf(seed), jwk: jwkOfParts(seed, signer.publicKey) })
}

/**
 * Loads a key from PEM (PKCS#8), as `openssl genpkey -algorithm ed25519` and `countersign keygen` write it.
 * @throws CountersignError UNUSABLE_KEY if it is not an Ed25519 private key, or is encrypted
 */
export async function keyFromPem(pem: string): Promise<Signer> {
  return signerOfSeed(seedOfPem(pem))
}

/**
 * Loads a key from a JWK (RFC 8037): `kty` OKP, `crv` Ed25519, `x` and `d`.
 * @throws CountersignError UNUSABLE_KEY if it is not an Ed25519 private key, or if `x` does not belong to `d`
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
 * Loads a key from text in either form, such as a platform's secret: PEM, also with `\n` written as two characters, or
 * a JWK in JSON.
 * @throws CountersignError UNUSABLE_KEY
 */
export async function keyFromText(text: string): Promise<Signer> {
  const trimmed = text.trim()
  if (!trimmed.startsWith('{')) return keyFromPem(trimmed.replaceAll('\\n', '\n'))
  let jwk: PrivateJwk
  try {
    jwk = JSON.parse(trimmed)
  } catch {
    throw unusable('The text starts like a JWK but is not JSON.')
  }
  return keyFromJwk(jwk)
}

/**
 * Reads a private key in JWK (RFC 8037). Further members are ignored.
 * @returns its seed and the public key that it states, 32 bytes each
 * @throws CountersignError UNUSABLE_KEY if it is not an Ed25519 private key
 */
function partsOfJwk(jwk: unknown): { seed: Uint8Array; publicKey: Uint8Array } {
  const { kty, crv, x, d } = (typeof jwk === 'object' && jwk !== null ? jwk : {}) as Record<
    string,
    unknown
  >
  const seed = bytesOf(d)
  const publicKey = bytesOf(x)
  if (kty !== 'OKP' || crv !== 'Ed25519' || publicKey === null) {
    throw unusable('This is not a private Ed25519 key in JWK (kty OKP, crv Ed25519, x, d).')
  }
  if (seed === null) throw unusable('This JWK holds a public key; the private one (d) is needed.')
  return { seed, publicKey }
}

function jwkOfParts(seed: Uint8Array, publicKey: Uint8Array): PrivateJwk {
  return { kty: 'OKP', crv: 'Ed25519', x: encodeBase64Url(publicKey), d: encodeBase64Url(seed) }
}

/** Decodes 43 characters of canonical base64url. */
function bytesOf(member: unknown): Uint8Array | null {
  if (typeof member !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(member)) return null
  return decodeKey(`${member.replaceAll('-', '+').replaceAll('_', '/')}=`)
}
