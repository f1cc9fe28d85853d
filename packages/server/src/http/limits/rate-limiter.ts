import { CodedError } from '@countersign/protocol'
import { type Attempt, AttemptQueue } from './attempt-queue.ts'
import {
  emissionInterval,
  plausibleResetAt,
  type QuotaState,
  quotaStateAt,
  type Rate,
} from './quota.ts'
import { LocalQuotaStore, type SharedQuotaStore } from './quota-store.ts'
import type { RateLimit } from './rate-limits.ts'

export interface RateLimiterDeps {
  /** Rates by the name of the limit; null or missing: no limit. */
  readonly rates: ReadonlyMap<string, Rate | null>
  readonly shared: SharedQuotaStore
  /** HMAC of what is counted, so that no address is stored. */
  readonly keyOf: (text: string) => Uint8Array
  readonly now: () => number
  /** Called when the shared store starts to fail, when it fails for another reason, and when it works again. */
  readonly onSharedChange: (works: boolean, error?: unknown) => void
}

/** Identifies a quota in the shared store and in this process. A hash, because client input can be long. */
interface Key {
  readonly bytes: Uint8Array
  readonly name: string
}

/** After a failure the shared store is not queried for so long, or each request would wait for its own time-out. */
const PAUSE_AFTER_FAILURE_MS = 1000
/**
 * Queries of the shared store that may be in progress: in a database each is a write that competes with claims and
 * revocations. Past this, requests are counted locally; rejecting them would let a flood against one limit block all others.
 */
const MAX_PENDING_QUERIES = 512

/** Applies rate limits. If the shared store fails, each node counts on its own: that never causes an outage. */
export class RateLimiter {
  readonly #deps: RateLimiterDeps
  readonly #local = new LocalQuotaStore()
  /** The last known state of shared quotas. Other nodes may have taken more since, never less. */
  readonly #lastShared = new LocalQuotaStore()
  /** Queries in progress that each may take one, by key. */
  readonly #pendingTakes = new Map<string, number>()
  /** Reads in progress, by key: concurrent reads of one quota share a query. */
  readonly #pendingReads = new Map<string, Promise<number | null>>()
  readonly #attempts = new AttemptQueue()
  /** Why the shared store fails, as `onSharedChange` was told; null while it works. */
  #failure: string | null = null
  #pausedUntil = 0
  /** Requests rejected with 429, by the name of the limit. */
  readonly rejected = new Map<string, number>()

  constructor(deps: RateLimiterDeps) {
    this.#deps = deps
    // Start at 0: Prometheus does not see an increase in a series that first appears with 1.
    for (const [name, rate] of deps.rates) if (rate !== null) this.rejected.set(name, 0)
  }

  /** Whether shared limits are counted by all nodes together, as far as is known. */
  get isShared(): boolean {
    return this.#failure === null
  }

  /** Names of the limits that apply. */
  get limits(): readonly string[] {
    return [...this.rejected.keys()]
  }

  rateOf({ name }: RateLimit): Rate | null {
    return this.#deps.rates.get(name) ?? null
  }

  /** Takes one from the quota if one is left. @param client an address, a session token or a claim token */
  take(limit: RateLimit, rate: Rate, client: string): QuotaState | Promise<QuotaState> {
    if (limit.scope === 'shared') return this.#takeShared(this.#keyOf(limit, client), rate)
    const now = this.#deps.now()
    const { resetAt, taken } = this.#local.take(textOf(limit, client), rate, now)
    return quotaStateAt(rate, resetAt, now, taken)
  }

  /** Reads a shared quota without taking from it. */
  async peek(limit: RateLimit, rate: Rate, client: string): Promise<QuotaState> {
    const key = this.#keyOf(limit, client)
    const now = this.#deps.now()
    const expected = this.#expect(key, rate, now)
    if (!expected.isAllowed) return expected
    const shared = await this.#readShared(key)
    return quotaStateAt(rate, shared ?? this.#local.resetAt(key.name), now, null)
  }

  /**
   * Begins an attempt that may fail, for a client that `peek` has admitted. Waits while as many attempts are in progress on
   * this node as failures are left. Attempts on other nodes are not seen: `take` decides which failures exceed the quota.
   * @throws CodedError UNAVAILABLE if too many attempts are queued
   */
  beginAttempt(limit: RateLimit, rate: Rate, client: string): Promise<Attempt> {
    const { name } = this.#keyOf(limit, client)
    return this.#attempts.begin(name, () => {
      const now = this.#deps.now()
      return quotaStateAt(rate, this.#knownResetAt(name, rate, now), now, null)
    })
  }

  /**
   * Takes one from a quota that only a handler can count, since it depends on who the request proves to be.
   * @throws CodedError RATE_LIMITED
   */
  async assertAllowed(limit: RateLimit, client: string, reason: string): Promise<void> {
    const rate = this.rateOf(limit)
    if (rate === null) return
    const state = await this.take(limit, rate, client)
    if (state.isAllowed) return
    this.countRejection(limit)
    const seconds = Math.max(1, Math.ceil(state.retryMs / 1000))
    throw new CodedError('RATE_LIMITED', `${reason} Try again in ${seconds} s.`, {
      retryAfterSeconds: seconds,
    })
  }

  countRejection({ name }: RateLimit): void {
    this.rejected.set(name, (this.rejected.get(name) ?? 0) + 1)
  }

  #keyOf(limit: RateLimit, client: string): Key {
    const bytes = this.#deps.keyOf(textOf(limit, client))
    return { bytes, name: Buffer.from(bytes).toString('base64url') }
  }

  async #takeShared(key: Key, rate: Rate): Promise<QuotaState> {
    const { name } = key
    const now = this.#deps.now()
    const expected = this.#expect(key, rate, now)
    if (!expected.isAllowed) return expected
    this.#pendingTakes.set(name, this.#pendingTakesOf(name) + 1)
    try {
      const shared = await this.#query((store) => store.take(key.bytes, rate, now))
      if (shared !== null) this.#lastShared.set(name, shared.resetAt, now)
      // Local counts serve only while the shared store fails: they are never merged into it.
      const { resetAt, taken } = shared ?? this.#local.take(name, rate, now)
      return quotaStateAt(rate, resetAt, now, taken)
    } finally {
      const others = this.#pendingTakesOf(name) - 1
      if (others === 0) this.#pendingTakes.delete(name)
      else this.#pendingTakes.set(name, others)
    }
  }

  /** @returns when the quota is full again; null if the shared store cannot be queried now */
  #readShared({ bytes, name }: Key): Promise<number | null> {
    const pending = this.#pendingReads.get(name)
    if (pending !== undefined) return pending
    const read = this.#query((store) => store.resetAt(bytes))
      .then((resetAt) => {
        const now = this.#deps.now()
        // A take may have finished since this read began, and its result is newer.
        if (resetAt !== null)
          this.#lastShared.set(name, Math.max(resetAt, this.#lastShared.resetAt(name)), now)
        return resetAt
      })
      .finally(() => this.#pendingReads.delete(name))
    this.#pendingReads.set(name, read)
    return read
  }

  /** The most that can be left once all pending takes are done. If that is nothing, another query cannot succeed. */
  #expect({ name }: Key, rate: Rate, now: number): QuotaState {
    const pending = this.#pendingTakesOf(name) * emissionInterval(rate)
    return quotaStateAt(rate, this.#knownResetAt(name, rate, now) + pending, now, null)
  }

  #pendingTakesOf(name: string): number {
    return this.#pendingTakes.get(name) ?? 0
  }

  /** When a quota is full again as far as this process knows; `now` or later. */
  #knownResetAt(name: string, rate: Rate, now: number): number {
    const known = [this.#lastShared.resetAt(name), this.#isPaused() ? this.#local.resetAt(name) : 0]
    return Math.max(...known.map((each) => plausibleResetAt(rate, each, now)))
  }

  #isPaused(): boolean {
    return performance.now() < this.#pausedUntil
  }

  /** @returns null if the shared store fails, or has too many queries in progress */
  async #query<T>(operation: (store: SharedQuotaStore) => Promise<T>): Promise<T | null> {
    const { shared } = this.#deps
    if (this.#isPaused() || shared.pending >= MAX_PENDING_QUERIES) return null
    try {
      const result = await operation(shared)
      this.#setFailure(null)
      return result
    } catch (error) {
      this.#pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS
      this.#setFailure(error)
      return null
    }
  }

  #setFailure(error: unknown): void {
    const failure = error === null ? null : reasonOf(error)
    if (failure === this.#failure) return
    this.#failure = failure
    this.#deps.onSharedChange(failure === null, error)
  }
}

/** The message of the first cause. */
function reasonOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : String(error)
}

function textOf({ name }: RateLimit, client: string): string {
  return `${name} ${client}`
}
