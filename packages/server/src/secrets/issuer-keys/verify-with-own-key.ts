import { createPublicKey, verify } from 'node:crypto'
import { algorithmOf, type IssuerJwk } from '@countersign/protocol'

/** Verifies a signature of the service's own. @param jwk one of its keys */
export function verifyWithOwnKey(
  jwk: IssuerJwk,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  const algorithm = algorithmOf(jwk) === 'EdDSA' ? null : 'sha256'
  return verify(algorithm, message, { key, dsaEncoding: 'ieee-p1363' }, signature)
}
