import { randomBytes } from 'node:crypto'
import { CLAIM_LOOKALIKE, challengeMessage, encodeBase64Url } from '@countersign/protocol'
import { Failure } from './failure.ts'

/** A challenge that no one has seen before: 256 bits of randomness, in letters that no shell touches. */
export function newChallenge(): string {
  return `countersign-challenge-${encodeBase64Url(randomBytes(32))}`
}

/**
 * The bytes that an answer to a challenge signs. A claim, of whichever deployment, is refused with an error of its own.
 * @throws Failure LOOKS_LIKE_A_CLAIM
 * @throws CodedError VALIDATION_ERROR where it is empty, over 8,192 bytes, ill-formed or holds U+0000
 */
export function challengeBytes(challenge: string): Uint8Array {
  if (CLAIM_LOOKALIKE.test(challenge)) {
    throw new Failure(
      'LOOKS_LIKE_A_CLAIM',
      'This is no challenge but a claim: a signature on it would give your key to whoever issued the token. If the token is yours, use: countersign claim <token>',
    )
  }
  return challengeMessage(challenge)
}
