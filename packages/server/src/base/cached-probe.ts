import { withTimeout } from './timeout.ts'

const MAX_AGE_MS = 1000
const PROBE_TIMEOUT_MS = 800

/** Runs a probe at most once a second, however many callers there are, and never makes them wait longer than that. */
export class CachedProbe<T> {
  readonly #probe: () => Promise<T>
  readonly #fallback: T
  #last: { readonly at: number; readonly result: Promise<T> } | null = null

  /** @param fallback the result if the probe fails or takes too long */
  constructor(probe: () => Promise<T>, fallback: T) {
    this.#probe = probe
    this.#fallback = fallback
  }

  get(): Promise<T> {
    const now = performance.now()
    if (this.#last === null || now - this.#last.at > MAX_AGE_MS) {
      const result = withTimeout(this.#probe(), PROBE_TIMEOUT_MS).catch(() => this.#fallback)
      this.#last = { at: now, result }
    }
    return this.#last.result
  }
}
