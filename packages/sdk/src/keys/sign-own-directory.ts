import {
  DIRECTORY_PROOF_MAX_LIFETIME,
  type DirectoryProofRequest,
  signDirectory,
} from '@countersign/protocol'
import type { Signer } from './signer.ts'

/**
 * Signs the key set of an agent at its service, for as long as that is allowed.
 * @param issuer the origin of the service
 * @param now milliseconds since 1970
 */
export function signOwnDirectory(
  signer: Signer,
  issuer: string,
  now: number,
): Promise<DirectoryProofRequest> {
  const created = Math.floor(now / 1000)
  const claim = {
    authority: new URL(issuer).host,
    publicKey: signer.publicKey,
    created,
    expires: created + DIRECTORY_PROOF_MAX_LIFETIME,
  }
  return signDirectory(claim, (message) => signer.sign(message))
}
