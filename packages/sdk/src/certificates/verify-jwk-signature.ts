import type { IssuerJwk } from '@countersign/protocol'
import { isSignature } from '../keys/verify-signature.ts'

const ES256 = { name: 'ECDSA', hash: 'SHA-256' } as const

/**
 * Verifies a signature with the public key of an issuer: Ed25519 as strictly as `isSignature`, P-256 (ES256) with WebCrypto.
 * @param signature 64 bytes; of ES256 `r ‖ s` (RFC 7518 section 3.4)
 * @returns false for a key that is not usable
 */
export async function verifyJwkSignature(
  jwk: IssuerJwk,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (jwk.kty === 'OKP') return isSignature(bytesOf(jwk.x), message, signature)
  const { kty, crv, x, y } = jwk
  try {
    const curve = { name: 'ECDSA', namedCurve: 'P-256' } as const
    const key = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, curve, false, ['verify'])
    // Copies, because WebCrypto takes no memory that could be shared.
    return await crypto.subtle.verify(ES256, key, signature.slice(), message.slice())
  } catch {
    return false
  }
}

/** @param text base64url without padding, which the caller has validated */
export function bytesOf(text: string): Uint8Array {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (each) => each.charCodeAt(0))
}
