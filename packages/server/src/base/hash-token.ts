import { sha256 } from './sha256.ts'

/**
 * The SHA-256 (32 bytes) under which a token, code or cookie is stored: a stolen database redeems nothing and signs
 * nobody in. Every token has at least 80 random bits, so neither a salt nor a slow hash is needed.
 */
export function hashToken(token: string): Uint8Array {
  return sha256(token)
}
