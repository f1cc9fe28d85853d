import { CodedError, type Did, type RuntimeChallenge } from '@countersign/protocol'
import {
  type BoundChallengeDeps,
  type ChallengePurpose,
  expiryOfNonce,
  newBoundChallenge,
  parseBoundNonce,
} from '../agents/verification/bound-challenge.ts'
import { timestamp } from '../base/timestamp.ts'

/** What challenges are made from. */
export type RuntimeChallengeDeps = BoundChallengeDeps

const PURPOSE: ChallengePurpose = { name: 'runtime challenge', lifetimeMs: 5 * 60_000 }

/** Creates a challenge for one agent. */
export function newRuntimeChallenge(deps: RuntimeChallengeDeps, did: Did): RuntimeChallenge {
  const { challenge, expiresAt } = newBoundChallenge(deps, PURPOSE, did)
  return { challenge, expiresAt: timestamp(expiresAt) }
}

/**
 * Parses a challenge of this service. It is cheap, so it runs before any lookup.
 * @returns the nonce's 54 bytes, not yet authenticated
 * @throws CodedError VALIDATION_ERROR if the challenge does not have this service's form
 */
export function parseNonce({ site }: Pick<RuntimeChallengeDeps, 'site'>, text: string): Buffer {
  const nonce = parseBoundNonce(site, text)
  if (nonce !== null) return nonce
  throw new CodedError(
    'VALIDATION_ERROR',
    `This is not a challenge of this service. Challenges begin with ${site.naming.challengePrefix}${site.baseUrl}: and come from POST …/runtime/challenge.`,
  )
}

/**
 * Asserts that this service made a nonce for this agent and that it has not expired.
 * @throws CodedError VALIDATION_ERROR, TOKEN_EXPIRED
 */
export function assertValidNonce(deps: RuntimeChallengeDeps, did: Did, nonce: Buffer): void {
  const expiresAt = expiryOfNonce(deps, PURPOSE, did, nonce)
  if (expiresAt === null) {
    throw new CodedError('VALIDATION_ERROR', 'This challenge is for another agent.')
  }
  if (expiresAt <= deps.now()) {
    throw new CodedError(
      'TOKEN_EXPIRED',
      'This challenge has expired after 5 minutes. Request a new one.',
    )
  }
}
