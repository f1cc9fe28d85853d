export const DAY_MS = 86_400_000
/** How often managers are told of agents that are never suspended. */
const MONTH_MS = 30 * DAY_MS

/** How far managers were told of agents without a responsible person. Times are milliseconds since 1970. */
export interface Told {
  /** Since when the agents have none. */
  readonly since: number
  /** The last notice; null: none yet. */
  readonly toldAt: number | null
  /** When the agents are suspended, as the last notice said a day before; null: there was none. */
  readonly suspendAt: number | null
}

/** What is due now, and what it leaves. */
export interface Plan {
  readonly notify: boolean
  readonly suspend: boolean
  readonly told: Told
  /** When something is due next. */
  readonly nextAt: number
}

/**
 * Plans the notices and the suspension of agents without a responsible person: at once, after half the time, and a day before the
 * suspension. No suspension comes sooner than a day after its notice, also if the setting changes or the service was down.
 * @param days after how many the agents are suspended; null: never, with a notice each month
 * @param at now
 */
export function planMissing(before: Told, days: number | null, at: number): Plan {
  const { since, toldAt, suspendAt } = before
  if (days === null) {
    const notify = toldAt === null || at >= toldAt + MONTH_MS
    const last = notify ? at : toldAt
    const now = { since, toldAt: last, suspendAt: null }
    return { notify, suspend: false, told: now, nextAt: last + MONTH_MS }
  }
  const deadline = since + days * DAY_MS
  if (suspendAt !== null && suspendAt >= deadline) {
    const suspend = at >= suspendAt
    const nextAt = suspend ? at + DAY_MS : suspendAt
    return { notify: false, suspend, told: before, nextAt }
  }
  if (at >= deadline - DAY_MS) {
    const promised = Math.max(deadline, at + DAY_MS)
    const last = { since, toldAt: at, suspendAt: promised }
    return { notify: true, suspend: false, told: last, nextAt: promised }
  }
  const half = since + (days * DAY_MS) / 2
  const notify = toldAt === null || (toldAt < half && at >= half)
  const nextAt = at < half ? half : deadline - DAY_MS
  const now = { since, toldAt: notify ? at : toldAt, suspendAt: null }
  return { notify, suspend: false, told: now, nextAt }
}
