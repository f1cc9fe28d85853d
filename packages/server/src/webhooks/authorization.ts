import { seal, unseal } from '../secrets/seal.ts'
import type { Pepper } from '../secrets/secrets.ts'

const PURPOSE = 'webhook-authorization'
const NONCE_BYTES = 12

interface SealDeps {
  readonly pepper: Pepper
  readonly randomBytes: (count: number) => Uint8Array
}

/** Encrypts the value of an endpoint's header Authorization. Of another endpoint, it cannot be decrypted. */
export function sealAuthorization(
  { pepper, randomBytes }: SealDeps,
  endpointId: string,
  value: string,
): Buffer {
  return seal(pepper, PURPOSE, Buffer.from(value), endpointId, randomBytes(NONCE_BYTES))
}

/** @returns null if it was encrypted with another pepper */
export function unsealAuthorization(
  pepper: Pepper,
  endpointId: string,
  sealed: Uint8Array,
): string | null {
  return unseal(pepper, PURPOSE, sealed, endpointId)?.toString() ?? null
}
