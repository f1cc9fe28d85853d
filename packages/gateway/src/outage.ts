import type { CountersignError, CountersignErrorCode } from '@countersign/sdk'

/** Errors that are about the service, not about the agent that it was asked about. */
const OUTAGE: readonly CountersignErrorCode[] = [
  'NETWORK',
  'TIMEOUT',
  'UNAVAILABLE',
  'RATE_LIMITED',
]

const LEAST_PAUSE_MS = 1_000
const MOST_PAUSE_MS = 30_000
/** Whoever tries whether it is over is done by then, whatever happens. */
const TRY_MS = 10_000

/**
 * Whether a service that was out of reach is worth asking. After a failure nobody asks for a second, or as long as it has
 * said (Retry-After); then one does, and the others once it has had an answer: requests do not wait for it one by one.
 */
export class Outage {
  #until: number | null = null

  mayAsk(now: number): boolean {
    if (this.#until === null) return true
    if (now < this.#until) return false
    this.#until = now + TRY_MS
    return true
  }

  ended(): void {
    this.#until = null
  }

  failed(error: unknown, now: number): void {
    const { code = null, retryAfterMs = null } = (error ?? {}) as Partial<CountersignError>
    const pause = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, retryAfterMs ?? 0))
    this.#until = code === null || OUTAGE.includes(code) ? now + pause : null
  }
}
