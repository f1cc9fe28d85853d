import { createHash } from 'node:crypto'
import type { Did } from '@countersign/protocol'
import {
  type BoundChallengeDeps,
  type ChallengePurpose,
  expiryOfNonce,
  newBoundChallenge,
  parseBoundNonce,
} from '../agents/verification/bound-challenge.ts'
import { timestamp } from '../base/timestamp.ts'

/** Long enough to pass a challenge on by chat, short enough that an old answer is worth nothing. */
const LIFETIME_MINUTES = 10
const PURPOSE: ChallengePurpose = {
  name: 'check page challenge',
  lifetimeMs: LIFETIME_MINUTES * 60_000,
}
export const CHECK_LIFETIME_SECONDS = LIFETIME_MINUTES * 60

/** A challenge that the check page shows. */
export interface PageChallenge {
  readonly challenge: string
  /** ISO 8601. */
  readonly expiresAt: string
  /** Why this is not the challenge that the link names; null if it is, or if the link names none. */
  readonly replaces: 'expired' | 'foreign' | 'used' | null
}

/**
 * What is known about the text of a challenge. `own`: a text that does not name this service as its audience, so only
 * its author knows whether it was used before. `foreign`: it names this service, which did not create it for this agent.
 */
export type ChallengeState =
  | { readonly kind: 'open' | 'used'; readonly expiresAt: number }
  | { readonly kind: 'expired' | 'foreign' | 'own' }

/** The challenges that a browser has had answered, as the hashes that its cookie holds. */
export type UsedChallenges = readonly string[]

/** @returns the challenge of a link if the agent can still answer it, or a new one */
export function challengeFor(
  deps: BoundChallengeDeps,
  did: Did,
  linked: string | null,
  used: UsedChallenges,
): PageChallenge {
  const state = linked === null ? null : stateOfChallenge(deps, did, linked, used)
  if (linked !== null && state?.kind === 'open') {
    return { challenge: linked, expiresAt: timestamp(state.expiresAt), replaces: null }
  }
  const { challenge, expiresAt } = newBoundChallenge(deps, PURPOSE, did)
  return { challenge, expiresAt: timestamp(expiresAt), replaces: faultOf(state) }
}

function faultOf(state: ChallengeState | null): PageChallenge['replaces'] {
  if (state === null || state.kind === 'open') return null
  return state.kind === 'own' ? 'foreign' : state.kind
}

/** Judges a challenge that was answered. Reads nothing but the clock. */
export function stateOfChallenge(
  deps: BoundChallengeDeps,
  did: Did,
  text: string,
  used: UsedChallenges,
): ChallengeState {
  const { site } = deps
  if (!text.startsWith(`${site.naming.challengePrefix}${site.baseUrl}:`)) return { kind: 'own' }
  const nonce = parseBoundNonce(site, text)
  const expiresAt = nonce === null ? null : expiryOfNonce(deps, PURPOSE, did, nonce)
  if (expiresAt === null) return { kind: 'foreign' }
  if (expiresAt <= deps.now()) return { kind: 'expired' }
  return { kind: used.includes(hashOfChallenge(text)) ? 'used' : 'open', expiresAt }
}

const HASH_LENGTH = 22
/** More answers than a person checks in ten minutes; the cookie stays below 1 KiB. */
const MAX_USED = 32

/** @param cookie its value, unchecked */
export function usedChallenges(cookie: string | null): UsedChallenges {
  return (cookie ?? '').split('.').filter((each) => each.length === HASH_LENGTH)
}

/** @returns the cookie's value with a challenge added */
export function withUsed(used: UsedChallenges, challenge: string): string {
  return [hashOfChallenge(challenge), ...used].slice(0, MAX_USED).join('.')
}

function hashOfChallenge(challenge: string): string {
  return createHash('sha256').update(challenge).digest('base64url').slice(0, HASH_LENGTH)
}
