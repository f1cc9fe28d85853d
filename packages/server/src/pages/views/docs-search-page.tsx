import type { SearchResult } from '../docs/search.ts'
import type { PageContext } from './context.ts'
import { DocsLayout, DocsSearch } from './docs-layout.tsx'
import type { DocsMap } from './docs-view.ts'
import { htmlOf } from './html.tsx'

interface DocsSearchData {
  /** What was searched for; empty: nothing. */
  readonly query: string
  readonly results: readonly SearchResult[]
}

/** The results of a search in the documentation. */
export function docsSearchPage(
  context: PageContext,
  map: DocsMap,
  { query, results }: DocsSearchData,
): string {
  return htmlOf(
    <DocsLayout
      context={context}
      title={`Search · ${context.serviceName}`}
      description="Search the documentation."
      path={null}
      place={{ map, path: '/docs/search', headings: [] }}
      heading="Search"
    >
      <div className="mt-6">
        <DocsSearch id="search-here" query={query} />
      </div>
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
            {heading !== '' && <span className="text-soft"> · {title}</span>}
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
    </DocsLayout>,
  )
}
