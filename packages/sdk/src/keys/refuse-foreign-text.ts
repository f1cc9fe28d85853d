import { type Naming, parseChallenge, unsignableTextIn } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** @throws CountersignError LOOKS_LIKE_A_CLAIM, NOT_A_CHALLENGE if the text could be signed bytes of another protocol */
export function refuseForeignText(text: string): void {
  const foreign = unsignableTextIn(text)
  if (foreign === null) return
  const code = foreign.kind === 'claim' ? 'LOOKS_LIKE_A_CLAIM' : 'NOT_A_CHALLENGE'
  throw new CountersignError(code, foreign.message)
}

/**
 * @param audience the origin that the challenge has to name
 * @throws CountersignError LOOKS_LIKE_A_CLAIM, NOT_A_CHALLENGE, WRONG_AUDIENCE
 */
export function assertBoundTo(naming: Naming, challenge: string, audience: string): void {
  refuseForeignText(challenge)
  const parsed = parseChallenge(naming, challenge)
  if (parsed === null) {
    throw new CountersignError(
      'NOT_A_CHALLENGE',
      `This is not a challenge of the form ${naming.challengePrefix}<audience>:<nonce>, so it names no audience.`,
    )
  }
  if (parsed.audience === audience) return
  throw new CountersignError(
    'WRONG_AUDIENCE',
    `This challenge is for ${parsed.audience}, but this agent is connected to ${audience}. It may be relayed by an attacker.`,
  )
}
