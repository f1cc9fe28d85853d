import { BoundedMap } from './bounded-map.ts'
import type { Limit } from './policy/policy.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

/** So many at most are remembered; whoever is forgotten starts with a full bucket. */
const MOST_BUCKETS = 10_000

/** A token bucket for each key: `requests` at once, refilled evenly over `seconds`. In the memory of this process. */
export class TokenBuckets {
  readonly #buckets = new BoundedMap<string, Bucket>(MOST_BUCKETS)
  readonly #limit: Limit
  readonly #perMs: number

  constructor(limit: Limit) {
    this.#limit = limit
    this.#perMs = limit.requests / (limit.seconds * 1000)
  }

  /**
   * Takes a token.
   * @param now milliseconds of a clock that only goes forward
   * @returns 0, or in how many seconds there is one again
   */
  take(key: string, now: number): number {
    const bucket = this.#buckets.get(key) ?? { tokens: this.#limit.requests, filledAt: now }
    const filled = bucket.tokens + Math.max(0, now - bucket.filledAt) * this.#perMs
    bucket.tokens = Math.min(this.#limit.requests, filled)
    bucket.filledAt = now
    this.#buckets.set(key, bucket)
    if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / this.#perMs / 1000))
    bucket.tokens -= 1
    return 0
  }

  get size(): number {
    return this.#buckets.size
  }
}
