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

/**
 * The state of a quota that refills evenly: the generic cell rate algorithm (ATM Forum TM 4.1). One number is enough, the
 * time at which the quota is full again. If a clock that runs ahead has set it later than one window from now, it counts
 * as one window from now.
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
  const resetMs = Math.min(Math.max(resetAt - now, 0), rate.windowMs)
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
