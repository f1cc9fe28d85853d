import type { CountersignError, CountersignErrorCode } from '@countersign/sdk'

/** Errors of the service itself. Any other error is about the one agent that was asked for. */
const SERVICE_ERRORS: readonly CountersignErrorCode[] = [
  'NETWORK',
  'TIMEOUT',
  'UNAVAILABLE',
  'RATE_LIMITED',
]

const MIN_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 30_000
/** Longer than any trial request takes. If its result is lost, the next one may start after this time. */
const TRIAL_MS = 10_000

/**
 * Stops requests to a service that fails. After a failure it blocks requests for one second, or for the service's
 * Retry-After. Then it allows a single trial request, and all others once the trial has succeeded.
 */
export class CircuitBreaker {
  #blockedUntil: number | null = null

  allowsRequest(now: number): boolean {
    if (this.#blockedUntil === null) return true
    if (now < this.#blockedUntil) return false
    this.#blockedUntil = now + TRIAL_MS
    return true
  }

  recordSuccess(): void {
    this.#blockedUntil = null
  }

  recordFailure(error: unknown, now: number): void {
    const { code = null, retryAfterMs = null } = (error ?? {}) as Partial<CountersignError>
    const pause = Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, retryAfterMs ?? 0))
    this.#blockedUntil = code === null || SERVICE_ERRORS.includes(code) ? now + pause : null
  }
}
