/** A section of a page, as the search sees it. All texts are plain. */
export interface SearchEntry {
  readonly path: string
  /** Title of the page. */
  readonly title: string
  /** Empty for the beginning of a page. */
  readonly heading: string
  readonly text: string
}

export interface SearchResult extends Omit<SearchEntry, 'text'> {
  /** Part of the text, around the first match, in pieces that alternate between plain and matching: `['a ', 'key', ' of']`. */
  readonly excerpt: readonly string[]
}

/** Longest query, in UTF-16 units. What follows is ignored. */
export const MAX_QUERY = 200
const MAX_TERMS = 8
const MAX_RESULTS = 20
const EXCERPT = 180

/** Finds the sections that contain every term of a query, the best first. */
export function search(index: readonly SearchEntry[], query: string): SearchResult[] {
  const terms = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])].slice(
    0,
    MAX_TERMS,
  )
  if (terms.length === 0) return []
  return index
    .map((entry) => ({ entry, score: scoreOf(entry, terms) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_RESULTS)
    .map(({ entry: { text, ...entry } }) => ({ ...entry, excerpt: excerptOf(text, terms) }))
}

/** @returns 0 if a term is missing */
function scoreOf({ title, heading, text }: SearchEntry, terms: readonly string[]): number {
  const parts = [
    [heading.toLowerCase(), 8],
    [title.toLowerCase(), 4],
    [text.toLowerCase(), 1],
  ] as const
  let score = 0
  for (const term of terms) {
    const found = parts.reduce((sum, [part, weight]) => sum + (part.includes(term) ? weight : 0), 0)
    if (found === 0) return 0
    score += found
  }
  return score
}

function excerptOf(text: string, terms: readonly string[]): string[] {
  const lower = text.toLowerCase()
  const first = Math.min(...terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0))
  const start = Number.isFinite(first) ? Math.max(0, first - EXCERPT / 3) : 0
  // Begins and ends at a word.
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1
  const cut = text.slice(from, from + EXCERPT)
  const whole = from + EXCERPT < text.length ? `${cut.replace(/\s\S*$/, '')} …` : cut
  const pattern = new RegExp(`(${terms.join('|')})`, 'giu')
  return (from === 0 ? whole : `… ${whole}`).split(pattern)
}
