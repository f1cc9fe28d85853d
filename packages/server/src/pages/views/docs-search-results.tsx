import { renderToStaticMarkup } from 'react-dom/server'
import type { SearchResult } from '../docs/search.ts'

interface DocsSearchData {
  /** What was searched for; empty: nothing. */
  readonly query: string
  readonly results: readonly SearchResult[]
}

/** What a search in the documentation found, for the slot of its page. */
export function docsSearchResults({ query, results }: DocsSearchData): string {
  return renderToStaticMarkup(
    <>
      {query !== '' && (
        <p className="mt-6 text-soft" role="status">
          {results.length === 0
            ? 'No results. Try fewer or other words.'
            : `${results.length} ${results.length === 1 ? 'result' : 'results'}`}
        </p>
      )}
      <ol className="mt-6 space-y-6">
        {results.map(({ path, title, heading, excerpt }) => (
          <li key={path} className="min-w-0">
            <a
              href={path}
              className="text-lg font-medium text-accent underline underline-offset-4 wrap-anywhere hover:text-accent-strong"
            >
              {heading === '' ? title : heading}
            </a>
            {heading !== '' && <span className="text-soft wrap-anywhere"> · {title}</span>}
            <p className="mt-1 text-soft wrap-anywhere">
              {excerpt.map((piece, index) =>
                index % 2 === 1 ? (
                  // biome-ignore lint/suspicious/noArrayIndexKey: pieces may repeat, and their order never changes
                  <mark key={index} className="bg-accent-wash text-ink">
                    {piece}
                  </mark>
                ) : (
                  piece
                ),
              )}
            </p>
          </li>
        ))}
      </ol>
    </>,
  )
}
