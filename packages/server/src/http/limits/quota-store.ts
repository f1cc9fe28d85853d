import { emissionInterval, plausibleResetAt, type Rate, ROUNDING_MS } from './quota.ts'

export interface TakeResult {
  /** When the quota is full again, milliseconds since 1970. */
  readonly resetAt: number
  /** Whether one was left, and has been taken. */
  readonly taken: boolean
}

/** Stores the quotas that all nodes share. Its methods may reject with any error; callers must carry on without it. */
export interface SharedQuotaStore {
  /** Operations without a result yet, including those whose caller has stopped waiting. */
  readonly pending: number
  /** Takes one if one is left, atomically: concurrent callers together never get more than the quota. */
  take(key: Uint8Array, rate: Rate, now: number): Promise<TakeResult>
  /** @returns when the quota is full again, milliseconds since 1970; any past time, such as 0, if it is full */
  resetAt(key: Uint8Array): Promise<number>
}

/** Bounds memory. Past it, the entry that was written longest ago is dropped. */
const MAX_KEYS = 100_000

/** Stores quotas in the memory of this process. */
export class LocalQuotaStore {
  readonly #resetAt = new Map<string, number>()

  take(key: string, rate: Rate, now: number): TakeResult {
    const windowEnd = now + rate.windowMs
    const current = plausibleResetAt(rate, this.resetAt(key), now)
    const next = current + emissionInterval(rate)
    const taken = next <= windowEnd + ROUNDING_MS
    const resetAt = taken ? next : current
    this.set(key, resetAt, now)
    return { resetAt, taken }
  }

  resetAt(key: string): number {
    return this.#resetAt.get(key) ?? 0
  }

  set(key: string, resetAt: number, now: number): void {
    // A Map iterates in insertion order: deleting first moves the key to the end.
    this.#resetAt.delete(key)
    if (this.#resetAt.size >= MAX_KEYS) this.#evict(now)
    this.#resetAt.set(key, resetAt)
  }

  #evict(now: number): void {
    for (const [key, resetAt] of this.#resetAt) if (resetAt <= now) this.#resetAt.delete(key)
    const [oldest] = this.#resetAt.keys()
    if (oldest !== undefined && this.#resetAt.size >= MAX_KEYS) this.#resetAt.delete(oldest)
  }
}
