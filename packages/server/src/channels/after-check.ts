import type { CheckOutcome } from '@countersign/protocol'
import type { ChannelRow } from '../core/database/database.ts'
import { RECHECK_MS, RETRY_MS, sooner, tokenCheckAt } from './next-check.ts'

const HOUR_MS = 3_600_000
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
