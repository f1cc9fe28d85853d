import { decodeKey, encodeBase64Url } from '@countersign/protocol'
import { unusable } from './pkcs8.ts'
import type { PrivateJwk } from './signer.ts'

/**
 * Reads a private key in JWK (RFC 8037), as an object or as JSON. Members beside the key's own are let through.
 * @returns its seed and the public key that it says belongs to it, 32 bytes each
 * @throws CountersignError UNUSABLE_KEY for what is no Ed25519 private key
 */
export function partsOfJwk(jwk: unknown): { seed: Uint8Array; publicKey: Uint8Array } {
  const { kty, crv, x, d } = (typeof jwk === 'object' && jwk !== null ? jwk : {}) as Record<
    string,
    unknown
  >
  const seed = bytesOf(d)
  const publicKey = bytesOf(x)
  if (kty !== 'OKP' || crv !== 'Ed25519' || publicKey === null) {
    throw unusable('This is no Ed25519 key in JWK (kty OKP, crv Ed25519, x, d).')
  }
  if (seed === null) throw unusable('This JWK holds a public key; the private one (d) is needed.')
  return { seed, publicKey }
}

export function jwkOfParts(seed: Uint8Array, publicKey: Uint8Array): PrivateJwk {
  return { kty: 'OKP', crv: 'Ed25519', x: encodeBase64Url(publicKey), d: encodeBase64Url(seed) }
}

/** 43 characters of base64url, in the one spelling of their bytes. */
function bytesOf(member: unknown): Uint8Array | null {
  if (typeof member !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(member)) return null
  return decodeKey(`${member.replaceAll('-', '+').replaceAll('_', '/')}=`)
}
