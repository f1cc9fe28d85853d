import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Pepper } from './secrets.ts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts bytes for the service alone: AES-256-GCM under a key that is derived from the pepper for one purpose.
 * @param additional is authenticated, but not part of the result
 * @param nonce 12 random bytes
 * @returns nonce ‖ ciphertext ‖ tag
 */
export function seal(
  pepper: Pepper,
  purpose: string,
  text: Uint8Array,
  additional: string,
  nonce: Uint8Array,
): Buffer {
  const cipher = createCipheriv(ALGORITHM, pepper.derive(purpose), nonce)
  cipher.setAAD(Buffer.from(additional))
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts what `seal` has made. @returns null if it was made with another pepper, for another purpose or with other data, or altered */
export function unseal(
  pepper: Pepper,
  purpose: string,
  sealed: Uint8Array,
  additional: string,
): Buffer | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const options = { authTagLength: TAG_BYTES }
  const decipher = createDecipheriv(ALGORITHM, pepper.derive(purpose), nonce, options)
  decipher.setAAD(Buffer.from(additional))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))
    return Buffer.concat([text, decipher.final()])
  } catch {
    return null
  }
}
