import { BoundedMap } from './bounded-map.ts'
import type { Limit } from './policy/policy.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

/** Bounds the memory. An evicted key starts again with a full bucket. */
const MAX_BUCKETS = 10_000

/** A token bucket per key: `requests` at once, refilled evenly over `seconds`. Held in the memory of this process. */
export class TokenBuckets {
  readonly #buckets = new BoundedMap<string, Bucket>(MAX_BUCKETS)
  readonly #limit: Limit
  readonly #perMs: number

  constructor(limit: Limit) {
    this.#limit = limit
    this.#perMs = limit.requests / (limit.seconds * 1000)
  }

  /**
   * Takes a token.
   * @param now time of a monotonic clock, in milliseconds
   * @returns 0 if there was a token, else the number of seconds until the next one
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
