import { ed25519 } from '@noble/curves/ed25519.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase58 } from './base58.ts'
import { decodeBase64Url, encodeBase64Url, utf8 } from './encoding.ts'

/** Why 32 bytes are not an acceptable Ed25519 public key. */
export type KeyFault = 'non-canonical' | 'small-order' | 'not-on-curve' | 'mixed-order'

/** y coordinates of the eight points of small order, little-endian, without the sign bit. */
const SMALL_ORDER_Y = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].map((hex) => Uint8Array.from(hex.match(/../g) as string[], (pair) => Number.parseInt(pair, 16)))

/**
 * Faults that show in the encoding, without curve arithmetic: cheap enough for every request.
 * Under a small-order key, a forged signature verifies for any message.
 * @param publicKey 32 bytes
 */
export function keyEncodingFault(publicKey: Uint8Array): 'non-canonical' | 'small-order' | null {
  if (!isCanonical(publicKey)) return 'non-canonical'
  return SMALL_ORDER_Y.some((y) => equalsButSign(publicKey, y)) ? 'small-order' : null
}

/**
 * Checks that a public key can be certified: canonical, on the curve, of prime order (docs/contract/resources.md).
 * @param publicKey 32 bytes
 * @returns the fault; null for a good key
 */
export function keyFault(publicKey: Uint8Array): KeyFault | null {
  const fault = keyEncodingFault(publicKey)
  if (fault !== null) return fault
  let point: InstanceType<typeof ed25519.Point>
  try {
    point = ed25519.Point.fromBytes(publicKey)
  } catch {
    return 'not-on-curve'
  }
  return point.isTorsionFree() ? null : 'mixed-order'
}

/** y < p = 2^255 - 19 (RFC 8032 section 5.1.3). */
function isCanonical(key: Uint8Array): boolean {
  if (((key[31] as number) & 0x7f) !== 0x7f) return true
  for (let i = 30; i > 0; i--) if (key[i] !== 0xff) return true
  return (key[0] as number) < 0xed
}

function equalsButSign(key: Uint8Array, y: Uint8Array): boolean {
  for (let i = 0; i < 31; i++) if (key[i] !== y[i]) return false
  return ((key[31] as number) & 0x7f) === y[31]
}

/** An Ed25519 public key as a JWK (RFC 8037). */
export interface OkpJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
}

/** A public key as a JWK (RFC 8037). @param publicKey 32 bytes */
export function jwkOf(publicKey: Uint8Array): OkpJwk {
  return { kty: 'OKP', crv: 'Ed25519', x: encodeBase64Url(publicKey) }
}

/** The JWK thumbprint of a key (RFC 7638 with SHA-256, RFC 8037 appendix A.3): base64url, 43 characters. */
export function keyThumbprint(publicKey: Uint8Array): string {
  return encodeBase64Url(
    sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${encodeBase64Url(publicKey)}"}`)),
  )
}

const thumbprints = new WeakMap<Uint8Array, string>()

/** `keyThumbprint` of bytes that do not change: those who cache keys, and signers, have the same array again. */
export function cachedThumbprint(publicKey: Uint8Array): string {
  const known = thumbprints.get(publicKey)
  if (known !== undefined) return known
  const thumbprint = keyThumbprint(publicKey)
  thumbprints.set(publicKey, thumbprint)
  return thumbprint
}

/** The JWK thumbprint of a P-256 key (RFC 7638 with SHA-256). @param x, y 32 bytes in base64url */
export function ecThumbprint({ x, y }: { readonly x: string; readonly y: string }): string {
  return encodeBase64Url(sha256(utf8(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`)))
}

/** `publicKeyMultibase` of a key: multicodec 0xed01, base58btc, so that it begins with `z6Mk`. */
export function multikeyOf(publicKey: Uint8Array): string {
  const prefixed = new Uint8Array(2 + publicKey.length)
  prefixed.set([0xed, 0x01])
  prefixed.set(publicKey, 2)
  return `z${encodeBase58(prefixed)}`
}

/** Whether text is a JWK thumbprint: canonical base64url of 32 bytes, 43 characters. */
export function isThumbprint(text: string): boolean {
  return parseThumbprint(text) !== null
}

/** The 32 bytes of a JWK thumbprint, or null if the text is not canonical base64url of them, 43 characters. */
export function parseThumbprint(text: string): Uint8Array | null {
  return text.length === 43 ? decodeBase64Url(text) : null
}
