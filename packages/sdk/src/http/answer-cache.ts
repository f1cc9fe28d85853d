import { freshnessOf } from './cache-control.ts'

/** An answer that was read and checked, and when it was got. Times in milliseconds of the cache's clock. */
export interface Kept {
  readonly value: object
  readonly etag: string | null
  /** When the service last said it. */
  readonly confirmedAt: number
  readonly freshUntil: number
}

/** Answers as their headers let them be kept; the ones not asked for the longest go first. */
export class AnswerCache {
  readonly #kept = new Map<string, Kept>()
  readonly #maxEntries: number

  /** @param maxEntries 0 keeps nothing */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get(key: string): Kept | undefined {
    const kept = this.#kept.get(key)
    if (kept !== undefined) {
      this.#kept.delete(key)
      this.#kept.set(key, kept)
    }
    return kept
  }

  /** Keeps an answer, or forgets what was there where its headers say so. */
  put(key: string, value: object, headers: Headers, now: number): void {
    this.#kept.delete(key)
    const freshness = freshnessOf(headers)
    if (freshness === null || this.#maxEntries === 0) return
    const { etag, freshMs } = freshness
    this.#kept.set(key, { value, etag, confirmedAt: now, freshUntil: now + freshMs })
    if (this.#kept.size > this.#maxEntries) {
      this.#kept.delete(this.#kept.keys().next().value as string)
    }
  }

  /** The service says that an answer is still what it says (304): with new headers, or those it had. */
  confirm(key: string, kept: Kept, headers: Headers, now: number): void {
    const merged = new Headers(headers)
    if (kept.etag !== null && !merged.has('etag')) merged.set('etag', kept.etag)
    this.put(key, kept.value, merged, now)
  }

  forget(key: string): void {
    this.#kept.delete(key)
  }

  clear(): void {
    this.#kept.clear()
  }
}
