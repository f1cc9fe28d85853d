import type { CheckOutcome } from '@countersign/protocol'
import type { ChannelRow } from '../core/database/database.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** How long a token can prove a channel for the first time. */
export const TOKEN_LIFETIME_MS = 7 * DAY_MS
/** Proofs are looked for every day. */
const RECHECK_MS = DAY_MS
/** Sooner where nobody knew. */
export const RETRY_MS = HOUR_MS
/** Whole days are shortened by up to so much, so that what came together does not come together every day. */
const SPREAD_MS = HOUR_MS

/** How long after a token was given out it is looked for, though nobody asks: the owner may have closed the page. */
const TOKEN_CHECKS = [
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  ...[1, 2, 3, 4, 5, 6].map((days) => days * DAY_MS),
]

/** When a token that is to be placed is looked for next; null: not any more, or there is none. */
export function tokenCheckAt(
  {
    proof_token: token,
    proof_expires_at: expiresAt,
  }: Pick<ChannelRow, 'proof_token' | 'proof_expires_at'>,
  now: number,
): number | null {
  if (token === null || expiresAt === null) return null
  const issuedAt = expiresAt - TOKEN_LIFETIME_MS
  return TOKEN_CHECKS.map((after) => issuedAt + after).find((at) => at > now) ?? null
}

/** The sooner of two moments, of which either may be none. */
function sooner(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}

/** Shortens a whole day a little. What is due sooner than that is due when it is. */
export function spread(
  dueAt: number | null,
  now: number,
  randomBytes: (count: number) => Uint8Array,
): number | null {
  if (dueAt === null || dueAt - now < RECHECK_MS) return dueAt
  const share = Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32
  return dueAt - Math.floor(share * SPREAD_MS)
}

/** A channel goes stale after so many failures in a row … */
const FAILURES = 3
/** … over at least so long. */
export const FAILING_MS = 72 * HOUR_MS
/** Failures closer together than this are one: nobody hurries a channel to its end by asking again and again. */
const APART_MS = 12 * HOUR_MS

/** What a check found. */
export interface CheckResult {
  readonly outcome: CheckOutcome
  /** Whose token was seen: the one that the owner was asked to place now, or the one that proved the channel before. */
  readonly token: 'fresh' | 'known' | null
  /** By which method. */
  readonly method: string | null
}

/** What becomes of a channel. */
export interface AfterCheck {
  readonly patch: Partial<ChannelRow>
  /** What has happened, if it is to be told. */
  readonly told: 'verified' | 'stale' | null
  /** When it is to be checked next; null: not by itself. */
  readonly dueAt: number | null
}

/**
 * What becomes of a channel after a check. Pure. A transient failure changes nothing; three failures over 72 hours make
 * it stale; only a fresh token makes it count again, and no longer than `freshForMs`. The end of that time is not
 * decided here but planned (`channel-end.ts`), so that it comes on time.
 */
export function afterCheck(
  channel: ChannelRow,
  result: CheckResult,
  freshForMs: number,
  now: number,
): AfterCheck {
  const { patch, told, dueAt } = changeOf(channel, result, freshForMs, now)
  return { patch, told, dueAt: sooner(dueAt, tokenCheckAt({ ...channel, ...patch }, now)) }
}

/** Whether there is something to lose. */
export function isCounting(channel: ChannelRow, now: number): boolean {
  const { verified_at, stale_since, fresh_until } = channel
  if (verified_at === null || stale_since !== null) return false
  return fresh_until === null || fresh_until > now
}

function changeOf(
  channel: ChannelRow,
  { outcome, token, method }: CheckResult,
  freshForMs: number,
  now: number,
): AfterCheck {
  const daily = isCounting(channel, now) ? now + RECHECK_MS : null
  if (outcome === 'unreachable') {
    return { patch: {}, told: null, dueAt: daily === null ? null : now + RETRY_MS }
  }
  if (outcome === 'absent') return afterFailure(channel, now)
  const seen = { checked_at: now, failures: 0, failing_since: null, failed_at: null }
  if (token === 'known') return { patch: seen, told: null, dueAt: daily }
  const patch = {
    ...seen,
    verified_at: now,
    fresh_until: now + freshForMs,
    stale_since: null,
    proven_token: channel.proof_token,
    proven_by: method,
    proof_token: null,
    proof_expires_at: null,
  }
  return { patch, told: 'verified', dueAt: now + RECHECK_MS }
}

function afterFailure(channel: ChannelRow, now: number): AfterCheck {
  if (!isCounting(channel, now)) return { patch: {}, told: null, dueAt: null }
  const { failed_at: last, failing_since: since } = channel
  const again = last !== null && since !== null && now - last < APART_MS
  const counted = again
    ? { failures: channel.failures, failing_since: since, failed_at: last }
    : { failures: channel.failures + 1, failing_since: since ?? now, failed_at: now }
  const decidedAt = counted.failing_since + FAILING_MS
  if (counted.failures >= FAILURES && now >= decidedAt) {
    return { patch: { ...counted, stale_since: now }, told: 'stale', dueAt: null }
  }
  const nextDay = counted.failed_at + RECHECK_MS
  // Decided when the 72 hours are over, and not on the day after.
  const dueAt = decidedAt > now ? Math.min(nextDay, decidedAt) : nextDay
  return { patch: again ? {} : counted, told: null, dueAt }
}
