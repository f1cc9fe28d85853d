import { utf8 } from './encoding.ts'
import type { Naming } from './naming.ts'

/** `svc-verify-` and 32 lower-case hexadecimal characters (contract 2.7). A secret until it is used. */
export type ClaimToken = string & { readonly __brand: 'ClaimToken' }

/** 10 minutes (contract section 8). */
export const CLAIM_TOKEN_LIFETIME_MS = 10 * 60 * 1000

/** A new claim token with 128 random bits. @param randomBytes a cryptographically secure source of `count` bytes */
export function randomClaimToken(
  naming: Naming,
  randomBytes: (count: number) => Uint8Array,
): ClaimToken {
  const hex = Array.from(randomBytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${naming.tokenPrefix}${hex}` as ClaimToken
}

/** Whether text has the form of a claim token. Only the service knows whether it can be redeemed. */
export function isClaimToken(naming: Naming, text: string): text is ClaimToken {
  return naming.tokenPattern.test(text)
}

/** The bytes that a claim signs (contract 4.4): `claimToken|agentId` as UTF-8. */
export function claimMessage(claimToken: ClaimToken, agentId: string): Uint8Array {
  return utf8(`${claimToken}|${agentId}`)
}
