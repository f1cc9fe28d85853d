import { utf8 } from './encoding.ts'
import { CodedError } from './errors.ts'
import { foreignTextIn } from './foreign-text.ts'
import type { Naming } from './naming.ts'
import { CHALLENGE_MAX_BYTES, CHALLENGE_PATTERN } from './text.ts'

/** A challenge for one audience: no other site accepts an answer to it. */
export interface Challenge {
  /** The origin of the site that issued it (RFC 6454), such as `https://shop.example`. */
  readonly audience: string
  /** Random and single-use: 22 to 128 characters of base64url. */
  readonly nonce: string
}

/** The beginning of a challenge that names an audience, of any deployment, in any case. Not all that begins so is well-formed. */
export const BOUND_CHALLENGE = /^[a-z][a-z0-9]{0,15}-challenge-v1:/i

const NONCE_PATTERN = /^[A-Za-z0-9_-]{22,128}$/

/**
 * The text of a challenge, which the agent signs: `<shortName>-challenge-v1:<audience>:<nonce>` (docs/contract/endpoints.md).
 * @throws RangeError if the audience is not an origin or the nonce has another form
 */
export function formatChallenge(naming: Naming, { audience, nonce }: Challenge): string {
  if (!isOrigin(audience)) {
    throw new RangeError('the audience is not an origin, such as https://shop.example')
  }
  if (!NONCE_PATTERN.test(nonce)) {
    throw new RangeError('the nonce is not 22 to 128 characters of base64url')
  }
  return `${naming.challengePrefix}${audience}:${nonce}`
}

/** Parses a challenge. @returns null if the text has another form: an agent refuses to sign it */
export function parseChallenge(naming: Naming, text: string): Challenge | null {
  if (!text.startsWith(naming.challengePrefix)) return null
  const colon = text.lastIndexOf(':')
  const audience = text.slice(naming.challengePrefix.length, colon)
  const nonce = text.slice(colon + 1)
  if (!isOrigin(audience)) return null
  return NONCE_PATTERN.test(nonce) ? { audience, nonce } : null
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

/** Whether text is an http or https origin (RFC 6454) in its canonical spelling: no path, no default port, lower case, punycode. */
export function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}
