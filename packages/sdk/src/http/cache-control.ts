/** What an answer lets a cache of one reader do with it (RFC 9111). */
export interface Freshness {
  /** For how long it may be used without asking, in milliseconds. */
  readonly freshMs: number
  readonly etag: string | null
}

/** @returns null where the answer may not be kept, or keeping it would be of no use */
export function freshnessOf(headers: Headers): Freshness | null {
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
    header.split(',').map((each) => {
      const [name = '', value] = each.trim().toLowerCase().split('=', 2)
      return [name, value]
    }),
  )
}

function secondsOf(text: string | undefined): number {
  return text !== undefined && /^"?\d{1,9}"?$/.test(text) ? Number(text.replaceAll('"', '')) : 0
}
