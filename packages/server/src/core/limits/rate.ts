/** So many in so long. All times are milliseconds. */
export interface Rate {
  readonly quota: number
  readonly windowMs: number
}

/** How much of a quota somebody has left. */
export interface Standing {
  /** Whether there is one for this request; where it took one, that one is counted already. */
  readonly isAllowed: boolean
  readonly remaining: number
  /** Until the quota is whole again. */
  readonly resetMs: number
  /** Until there is one again; 0 where there is. */
  readonly retryMs: number
}

/** A sum of many prices is inexact in its last digits. */
const INEXACT_MS = 0.001

export function costOf({ quota, windowMs }: Rate): number {
  return windowMs / quota
}

/**
 * A quota refills evenly (the "generic cell rate algorithm", ATM Forum TM 4.1): of all that has been taken it is enough to know
 * when the quota will be whole. A moment further away than the window, from a clock that is ahead, counts as its end.
 * @param wholeAt milliseconds since 1970
 * @param took whether this request has taken one just now, which is in `wholeAt`; null: it only looks
 */
export function standingOf(
  rate: Rate,
  wholeAt: number,
  now: number,
  took: boolean | null,
): Standing {
  const cost = costOf(rate)
  const resetMs = Math.min(Math.max(wholeAt - now, 0), rate.windowMs)
  const left = rate.windowMs - resetMs
  const fits = cost <= left + INEXACT_MS
  const isAllowed = took ?? fits
  return {
    isAllowed,
    remaining: isAllowed ? Math.floor((left + INEXACT_MS) / cost) : 0,
    resetMs,
    retryMs: fits ? 0 : cost - left,
  }
}
