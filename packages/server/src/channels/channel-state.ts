import type { CheckOutcome } from '@countersign/protocol'
import type { ChannelRow } from '../database/database.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Base58 characters of a token: 128.9 bits. */
export const TOKEN_LENGTH = 22
/** How long a token can prove a channel. Afterwards it only keeps a channel that it has proven. */
export const TOKEN_LIFETIME_MS = 7 * DAY_MS
/** How often a verified channel is checked. */
const RECHECK_MS = DAY_MS
/** When a check is repeated that reached nobody. */
export const RETRY_MS = HOUR_MS
/** The maximum of the random time by which daily checks come earlier, so that channels proven together withJitter out. */
const MAX_JITTER_MS = HOUR_MS

/** When an open token is checked without a request, counted from its issue: the owner may have closed the page. */
const TOKEN_CHECKS_MS = [
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  ...[1, 2, 3, 4, 5, 6].map((days) => days * DAY_MS),
]

/**
 * The next scheduled check of an open token.
 * @returns milliseconds since 1970; null if there is no open token or no further check
 */
export function tokenCheckAt(
  {
    proof_token: token,
    proof_expires_at: expiresAt,
  }: Pick<ChannelRow, 'proof_token' | 'proof_expires_at'>,
  now: number,
): number | null {
  if (token === null || expiresAt === null) return null
  const issuedAt = expiresAt - TOKEN_LIFETIME_MS
  return TOKEN_CHECKS_MS.map((after) => issuedAt + after).find((at) => at > now) ?? null
}

/** The earlier of two times that may be null. */
function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}

/** Moves a check that is a day or more away earlier by a random part of an hour. Nearer checks stay as they are. */
export function withJitter(
  dueAt: number | null,
  now: number,
  randomBytes: (count: number) => Uint8Array,
): number | null {
  if (dueAt === null || dueAt - now < RECHECK_MS) return dueAt
  const share = Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32
  return dueAt - Math.floor(share * MAX_JITTER_MS)
}

/** A channel becomes stale after this many failures in a row … */
const MAX_FAILURES = 3
/** … if the first of them is at least this long ago. */
export const FAILING_MS = 72 * HOUR_MS
/** Failures closer together count as one, so that requested checks cannot make a channel stale sooner. */
const MIN_FAILURE_INTERVAL_MS = 12 * HOUR_MS

/** The result of a check. */
export interface CheckResult {
  readonly outcome: CheckOutcome
  /** Which token was found: the open one, or the one that proved the channel before. Null if neither was. */
  readonly token: 'fresh' | 'known' | null
  /** By which method of the channel's kind it was found; null if it was not. */
  readonly method: string | null
}

/** How a check changes a channel. */
export interface CheckEffect {
  /** The columns that change. */
  readonly patch: Partial<ChannelRow>
  /** The event to record, if any. */
  readonly event: 'verified' | 'stale' | null
  /** The next scheduled check in milliseconds since 1970; null if there is none. */
  readonly dueAt: number | null
}

/**
 * Computes how a check changes a channel. Pure. An unreachable place changes nothing. Three failures over 72 hours make the
 * channel stale. Only a fresh token verifies it again. A scheduled job expires it at `fresh_until`, not this function.
 * @param freshForMs how long a proof is valid
 * @param now milliseconds since 1970
 */
export function applyCheckResult(
  channel: ChannelRow,
  result: CheckResult,
  freshForMs: number,
  now: number,
): CheckEffect {
  const { patch, event, dueAt } = effectOf(channel, result, freshForMs, now)
  return { patch, event, dueAt: earlier(dueAt, tokenCheckAt({ ...channel, ...patch }, now)) }
}

/** Whether a channel is verified at a moment: proven, not stale and not expired. */
export function isVerified(channel: ChannelRow, now: number): boolean {
  const { verified_at, stale_since, fresh_until } = channel
  if (verified_at === null || stale_since !== null) return false
  return fresh_until === null || fresh_until > now
}

function effectOf(
  channel: ChannelRow,
  { outcome, token, method }: CheckResult,
  freshForMs: number,
  now: number,
): CheckEffect {
  const daily = isVerified(channel, now) ? now + RECHECK_MS : null
  if (outcome === 'unreachable') {
    return { patch: {}, event: null, dueAt: daily === null ? null : now + RETRY_MS }
  }
  if (outcome === 'absent') return afterFailure(channel, now)
  const found = { checked_at: now, failures: 0, failing_since: null, failed_at: null }
  if (token === 'known') return { patch: found, event: null, dueAt: daily }
  const patch = {
    ...found,
    verified_at: now,
    fresh_until: now + freshForMs,
    stale_since: null,
    proven_token: channel.proof_token,
    proven_by: method,
    proof_token: null,
    proof_expires_at: null,
  }
  return { patch, event: 'verified', dueAt: now + RECHECK_MS }
}

function afterFailure(channel: ChannelRow, now: number): CheckEffect {
  if (!isVerified(channel, now)) return { patch: {}, event: null, dueAt: null }
  const { failed_at: last, failing_since: since } = channel
  const isRepeated = last !== null && since !== null && now - last < MIN_FAILURE_INTERVAL_MS
  const counted = isRepeated
    ? { failures: channel.failures, failing_since: since, failed_at: last }
    : { failures: channel.failures + 1, failing_since: since ?? now, failed_at: now }
  const decidedAt = counted.failing_since + FAILING_MS
  if (counted.failures >= MAX_FAILURES && now >= decidedAt) {
    return { patch: { ...counted, stale_since: now }, event: 'stale', dueAt: null }
  }
  const nextDay = counted.failed_at + RECHECK_MS
  // Check at the end of the 72 hours rather than at the next daily check after it.
  const dueAt = decidedAt > now ? Math.min(nextDay, decidedAt) : nextDay
  return { patch: isRepeated ? {} : counted, event: null, dueAt }
}
