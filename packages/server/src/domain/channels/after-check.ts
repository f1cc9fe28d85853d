import type { CheckOutcome } from '@countersign/protocol'
import type { ChannelRow } from '../../storage/database.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Proofs are looked for every day. */
export const RECHECK_MS = DAY_MS
/** Sooner where nobody knew. */
const RETRY_MS = HOUR_MS
/** A channel goes stale after so many failures in a row … */
const FAILURES = 3
/** … over at least so long. */
const FAILING_MS = 72 * HOUR_MS
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
 * it stale; only a fresh token makes it count again, and no longer than `freshForMs`.
 */
export function afterCheck(
  channel: ChannelRow,
  { outcome, token, method }: CheckResult,
  freshForMs: number,
  now: number,
): AfterCheck {
  if (outcome === 'unreachable') return { patch: {}, told: null, dueAt: retryAt(channel, now) }
  if (outcome === 'absent') return afterFailure(channel, now)
  const seen = { checked_at: now, failures: 0, failing_since: null, failed_at: null }
  if (token === 'known') {
    return { patch: seen, told: null, dueAt: isCounting(channel) ? now + RECHECK_MS : null }
  }
  return {
    patch: {
      ...seen,
      verified_at: now,
      fresh_until: now + freshForMs,
      stale_since: null,
      proven_token: channel.proof_token,
      proven_by: method,
      proof_token: null,
      proof_expires_at: null,
    },
    told: 'verified',
    dueAt: now + RECHECK_MS,
  }
}

function afterFailure(channel: ChannelRow, now: number): AfterCheck {
  if (!isCounting(channel)) return { patch: {}, told: null, dueAt: null }
  if (channel.failed_at !== null && now - channel.failed_at < APART_MS) {
    return { patch: {}, told: null, dueAt: channel.failed_at + RECHECK_MS }
  }
  const failures = channel.failures + 1
  const since = channel.failing_since ?? now
  const patch = { failures, failing_since: since, failed_at: now }
  if (failures < FAILURES || now - since < FAILING_MS) {
    return { patch, told: null, dueAt: now + RECHECK_MS }
  }
  return { patch: { ...patch, stale_since: now }, told: 'stale', dueAt: null }
}

function retryAt(channel: ChannelRow, now: number): number | null {
  return isCounting(channel) ? now + RETRY_MS : null
}

/** Whether there is something to lose. */
function isCounting(channel: ChannelRow): boolean {
  return channel.verified_at !== null && channel.stale_since === null
}
