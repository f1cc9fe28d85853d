/** A quota of requests for each window. */
export interface Rate {
  readonly quota: number
  readonly windowMs: number
}

/** How much of its quota a client has left. */
export interface QuotaState {
  /** Whether this request is within the quota. If it has taken one, that is already subtracted below. */
  readonly isAllowed: boolean
  readonly remaining: number
  /** Milliseconds until the quota is full again. */
  readonly resetMs: number
  /** Milliseconds until one more request is allowed; 0 if one is allowed now. */
  readonly retryMs: number
}

/** Tolerance for rounding errors in a sum of many emission intervals. */
export const ROUNDING_MS = 0.001

/** Milliseconds in which one request of the quota refills (GCRA's emission interval). */
export function emissionInterval({ quota, windowMs }: Rate): number {
  return windowMs / quota
}

/** How far the clocks of two nodes may differ. */
export const MAX_SKEW_MS = 5000

/**
 * When a quota is full again, from a stored time: from `now` to one window later. A time slightly further ahead comes from
 * a node whose clock runs ahead, and counts as one window. A time far ahead was stored before the clock was set back: it
 * says nothing, and the quota is full.
 */
export function plausibleResetAt({ windowMs }: Rate, stored: number, now: number): number {
  const end = now + windowMs
  return stored < now || stored > end + MAX_SKEW_MS ? now : Math.min(stored, end)
}

/**
 * The state of a quota that refills evenly: the generic cell rate algorithm (ATM Forum TM 4.1). One number is enough, the
 * time at which the quota is full again.
 * @param resetAt when the quota is full again, milliseconds since 1970
 * @param taken whether this request has taken one, which is already part of `resetAt`; null if it only reads the state
 */
export function quotaStateAt(
  rate: Rate,
  resetAt: number,
  now: number,
  taken: boolean | null,
): QuotaState {
  const interval = emissionInterval(rate)
  const resetMs = plausibleResetAt(rate, resetAt, now) - now
  const available = rate.windowMs - resetMs
  const hasOne = interval <= available + ROUNDING_MS
  const isAllowed = taken ?? hasOne
  return {
    isAllowed,
    remaining: isAllowed ? Math.floor((available + ROUNDING_MS) / interval) : 0,
    resetMs,
    retryMs: hasOne ? 0 : interval - available,
  }
}
