import type { ClaimToken } from './claim-token.ts'
import { CodedError } from './errors.ts'
import { CHALLENGE_MAX_BYTES, CHALLENGE_PATTERN, utf8 } from './text.ts'

/**
 * Texts that must not be signed as a challenge: the signature could redeem a claim token, of this deployment or of another
 * one in which the agent uses the same key.
 */
export const CLAIM_LOOKALIKE = /^[a-z][a-z0-9]{0,15}-verify-[0-9a-f]{32}\|/i

/** The bytes that a claim signs (contract 4.4): `claimToken|agentId` as UTF-8. */
export function claimMessage(claimToken: ClaimToken, agentId: string): Uint8Array {
  return utf8(`${claimToken}|${agentId}`)
}

/**
 * The bytes that an answer to a challenge signs (contract 4.3): the challenge as UTF-8.
 * @throws CodedError VALIDATION_ERROR if the challenge is empty, over 8,192 bytes, not well-formed, contains U+0000, or has
 *   the form of a claim, since a signature on a claim gives the key to the owner who issued the token
 */
export function challengeMessage(challenge: string): Uint8Array {
  if (!CHALLENGE_PATTERN.test(challenge)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A challenge is not empty and is well-formed Unicode without U+0000.',
    )
  }
  if (CLAIM_LOOKALIKE.test(challenge)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'This challenge has the form of a claim. Signing it could give the key to whoever issued the token.',
    )
  }
  const message = utf8(challenge)
  if (message.length > CHALLENGE_MAX_BYTES) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `A challenge has at most ${CHALLENGE_MAX_BYTES} bytes of UTF-8.`,
    )
  }
  return message
}
