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
 * Bytes that a key signs about itself: 0xFF, then the lines as UTF-8, separated by line feeds. A site chooses what an agent signs as a
 * challenge. 0xFF never occurs in UTF-8, so no challenge, claim or signature base of RFC 9421 can be these bytes.
 */
export function markedMessage(lines: readonly (string | number)[]): Uint8Array {
  const text = utf8(lines.join('\n'))
  const message = new Uint8Array(1 + text.length)
  message[0] = 0xff
  message.set(text, 1)
  return message
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
