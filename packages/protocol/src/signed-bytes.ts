import type { ClaimToken } from './claim-token.ts'
import { CodedError } from './errors.ts'
import type { Naming } from './naming.ts'
import { CHALLENGE_MAX_BYTES, CHALLENGE_PATTERN, utf8 } from './text.ts'

/** The exact bytes that a claim signs (contract 4.4): `claimToken|agentId`, nothing before or after. */
export function claimMessage(claimToken: ClaimToken, agentId: string): Uint8Array {
  return utf8(`${claimToken}|${agentId}`)
}

/**
 * The exact bytes that an answer to a challenge signs (contract 4.3): the challenge as UTF-8.
 * @throws CodedError VALIDATION_ERROR where the challenge is empty, over 8,192 bytes, ill-formed, holds U+0000, or
 *   looks like a claim: a signature on that would hand the key to whoever issued the token
 */
export function challengeMessage(naming: Naming, challenge: string): Uint8Array {
  if (!CHALLENGE_PATTERN.test(challenge)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A challenge is not empty and is well-formed Unicode without U+0000.',
    )
  }
  if (naming.claimLookalike.test(challenge)) {
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
