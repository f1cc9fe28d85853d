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

/** Words of questions that say nothing of the subject. */
const STOP_WORDS = new Set(
  'a an and are at be by can do does for from get have how i if in into is it its make me my of on one or should that the their there this to use what when where which who why will with you your'.split(
    ' ',
  ),
)
const WORDS = /[\p{L}\p{N}_]+/gu
/** Ends of English words that are left out, so that "rotate" finds "rotation" and "keys" finds "key". */
const ENDING = /(?:ations?|ions?|ing|ed|es|e|s)$/

/** Finds the sections that have a word for every term of a query, the best first. If there is none: those with the most terms. */
export function search(index: readonly SearchEntry[], query: string): SearchResult[] {
  const terms = termsOf(query)
  if (terms.length === 0) return []
  const found = index
    .map((entry) => ({ entry, ...scoreOf(entry, terms) }))
    .filter(({ matched }) => matched > 0)
  const most = Math.max(...found.map(({ matched }) => matched))
  return found
    .filter(({ matched }) => matched === most)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_RESULTS)
    .map(({ entry: { text, ...entry } }) => ({ ...entry, excerpt: excerptOf(text, terms) }))
}

/** The beginnings of the words that are searched for. All words, if they are stop words. */
function termsOf(query: string): string[] {
  const words = [...new Set(query.toLowerCase().match(WORDS))]
  const telling = words.filter((word) => !STOP_WORDS.has(word))
  const wanted = telling.length > 0 ? telling : words
  return [...new Set(wanted.map(stemOf))].slice(0, MAX_TERMS)
}

function stemOf(word: string): string {
  const stem = word.replace(ENDING, '')
  return stem.length >= 3 ? stem : word
}

/** @returns how many terms it has, and how well they fit: in titles before texts, whole words before longer ones */
function scoreOf(
  { title, heading, text }: SearchEntry,
  terms: readonly string[],
): { readonly matched: number; readonly score: number } {
  const parts = [
    [heading === '' ? title : heading, 8],
    [title, 4],
    [text, 1],
  ] as const
  const words = parts.map(
    ([part, weight]) => [part.toLowerCase().match(WORDS) ?? [], weight] as const,
  )
  let matched = 0
  let score = 0
  for (const term of terms) {
    const found = words.reduce((sum, [each, weight]) => sum + weight * bestMatch(each, term), 0)
    if (found > 0) matched += 1
    score += found
  }
  return { matched, score }
}

/** @returns 1 for the word itself or a form of it, less for longer words, 0 if no word begins with the term */
function bestMatch(words: readonly string[], term: string): number {
  let best = 0
  for (const word of words) {
    if (!word.startsWith(term)) continue
    if (word === term || stemOf(word) === term) return 1
    best = 0.5
  }
  return best
}

function excerptOf(text: string, terms: readonly string[]): string[] {
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])((?:${terms.join('|')})[\\p{L}\\p{N}_]*)`, 'giu')
  const first = text.search(pattern)
  const start = Math.max(0, first - EXCERPT / 3)
  // Begins and ends at a word.
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1
  const cut = text.slice(from, from + EXCERPT)
  const whole = from + EXCERPT < text.length ? `${cut.replace(/\s\S*$/, '')} …` : cut
  return (from === 0 ? whole : `… ${whole}`).split(pattern)
}
