import type { ClaimToken } from './claim-token.ts'
import { utf8 } from './encoding.ts'
import { CodedError } from './errors.ts'
import { foreignTextIn } from './foreign-text.ts'
import { CHALLENGE_MAX_BYTES, CHALLENGE_PATTERN } from './text.ts'

/** The bytes that a claim signs (contract 4.4): `claimToken|agentId` as UTF-8. */
export function claimMessage(claimToken: ClaimToken, agentId: string): Uint8Array {
  return utf8(`${claimToken}|${agentId}`)
}

/**
 * The bytes that an answer to a challenge signs (contract 4.3): the challenge as UTF-8.
 * @throws CodedError VALIDATION_ERROR if the challenge is empty, over 8,192 bytes, not well-formed, contains U+0000, or
 *   could be signed bytes of another purpose (`foreignTextIn`)
 */
export function challengeMessage(challenge: string): Uint8Array {
  if (!CHALLENGE_PATTERN.test(challenge)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'A challenge is not empty and is well-formed Unicode without U+0000.',
    )
  }
  const foreign = foreignTextIn(challenge)
  if (foreign !== null) throw new CodedError('VALIDATION_ERROR', foreign.message)
  const message = utf8(challenge)
  if (message.length > CHALLENGE_MAX_BYTES) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `A challenge has at most ${CHALLENGE_MAX_BYTES} bytes of UTF-8.`,
    )
  }
  return message
}
