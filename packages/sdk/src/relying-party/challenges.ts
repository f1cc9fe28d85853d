import { formatChallenge, parseChallenge } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'
import { namingOf } from '../naming.ts'
import type { CallOptions } from '../options.ts'
import { originOf } from '../origin.ts'
import type { Registry } from '../registry.ts'
import type { VerifyRequest } from '../registry-requests.ts'
import type { Verification } from '../responses/types.ts'
import { type ChallengeNonces, storedNonces } from './challenge-nonces.ts'
import { type ChallengeStore, memoryChallengeStore } from './challenge-store.ts'

/** Options of `createChallenges`. */
export interface ChallengesOptions {
  /** The service that certifies the agents. */
  readonly registry: Registry
  /** The origin at which agents reach you, such as `https://shop.example`. Never take it from a request. */
  readonly audience: string | URL
  /** Default: the memory of this process. */
  readonly store?: ChallengeStore | undefined
  /** How long an agent may take to answer, in milliseconds. Default: 60,000. */
  readonly lifetimeMs?: number | undefined
}

/** Issues challenges for one audience and accepts each once, in time. */
export interface Challenges {
  /** Issues a challenge, `svc-challenge-v1:<audience>:<nonce>`, for one agent. */
  issue(): Promise<string>
  /**
   * Checks an answer, once for each challenge, whatever the result.
   * @returns the result of `Registry.verify`. Decide by `verified`: a suspended agent can prove its key as well
   * @throws CountersignError CHALLENGE_SPENT if the challenge was not issued here, has expired or was answered before;
   *   INVALID_SIGNATURE; NOT_FOUND if the key has no certificate; others of `Registry.verify`
   */
  check(answer: VerifyRequest, options?: Pick<CallOptions, 'signal'>): Promise<Verification>
}

/** How long an agent may take to answer, unless the options say otherwise. */
export const CHALLENGE_LIFETIME_MS = 60_000

/**
 * Creates the challenges of a relying party (contract 4.3). Nonces have 192 random bits.
 * @throws CountersignError INVALID_ARGUMENT
 */
export function createChallenges({
  registry,
  audience,
  store = memoryChallengeStore(),
  lifetimeMs = CHALLENGE_LIFETIME_MS,
}: ChallengesOptions): Challenges {
  const origin = originOf(audience, 'The audience')
  return challengesFrom(storedNonces(store, lifetimeMs), registry, origin)
}

/** @param audience an origin */
export function challengesFrom(
  nonces: ChallengeNonces,
  registry: Registry,
  audience: string,
): Challenges {
  const naming = namingOf(registry.naming)
  return {
    async issue() {
      return formatChallenge(naming, { audience, nonce: await nonces.issue() })
    },
    async check(answer, options) {
      const parsed = parseChallenge(naming, answer.challenge)
      const ours = parsed !== null && parsed.audience === audience
      // Redeemed before the service is asked, so that one challenge causes one request at most.
      if (!ours || !(await nonces.redeem(parsed.nonce, answer))) {
        throw new CountersignError(
          'CHALLENGE_SPENT',
          'This challenge was not issued here, has expired or was already used. Request a new one.',
        )
      }
      return registry.verify(answer, options)
    },
  }
}
