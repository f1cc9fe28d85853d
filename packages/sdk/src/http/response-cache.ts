/** A cached response: its checked value, and when it was received. Times in milliseconds of the cache's clock. */
export interface CachedResponse {
  readonly value: object
  readonly etag: string | null
  /** When the service last sent or confirmed it. */
  readonly confirmedAt: number
  readonly freshUntil: number
}

/** A private cache (RFC 9111) that evicts the least recently used response. */
export class ResponseCache {
  readonly #entries = new Map<string, CachedResponse>()
  readonly #maxEntries: number

  /** @param maxEntries 0 turns the cache off */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  get(key: string): CachedResponse | undefined {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      // A Map iterates in order of insertion: the least recently used entry stays first.
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    }
    return entry
  }

  /** Stores a response, or evicts the previous one if the headers forbid storing it. */
  put(key: string, value: object, headers: Headers, now: number): void {
    this.#entries.delete(key)
    const freshness = freshnessOf(headers)
    if (freshness === null || this.#maxEntries === 0) return
    const { etag, freshMs } = freshness
    this.#entries.set(key, { value, etag, confirmedAt: now, freshUntil: now + freshMs })
    if (this.#entries.size > this.#maxEntries) {
      this.#entries.delete(this.#entries.keys().next().value as string)
    }
  }

  /** Updates a response that the service confirmed (304), with the new headers. */
  confirm(key: string, cached: CachedResponse, headers: Headers, now: number): void {
    const merged = new Headers(headers)
    if (cached.etag !== null && !merged.has('etag')) merged.set('etag', cached.etag)
    this.put(key, cached.value, merged, now)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }
}

interface Freshness {
  /** For how long the response may be used without asking, in milliseconds. */
  readonly freshMs: number
  readonly etag: string | null
}

/** @returns null if the response may not be stored, or if storing it would be of no use */
function freshnessOf(headers: Headers): Freshness | null {
  const directives = directivesOf(headers.get('cache-control') ?? '')
  if (directives.has('no-store') || headers.get('vary')?.trim() === '*') return null
  const maxAge = directives.has('no-cache') ? 0 : secondsOf(directives.get('max-age'))
  const age = secondsOf(headers.get('age')?.trim())
  const freshMs = Math.max(0, maxAge - age) * 1000
  const etag = headers.get('etag')
  return freshMs > 0 || etag !== null ? { freshMs, etag } : null
}

function directivesOf(header: string): Map<string, string | undefined> {
  return new Map(
    header.split(',').map((directive) => {
      const [name = '', value] = directive.trim().toLowerCase().split('=', 2)
      return [name, value]
    }),
  )
}

function secondsOf(text: string | undefined): number {
  return text !== undefined && /^"?\d{1,9}"?$/.test(text) ? Number(text.replaceAll('"', '')) : 0
}
