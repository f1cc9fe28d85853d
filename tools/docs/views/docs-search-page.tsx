import { SLOT } from '../../../packages/server/src/pages/docs/deployment-names.ts'
import { htmlOf } from '../../../packages/server/src/pages/views/html.tsx'
import type { PageContext } from '../../../packages/server/src/pages/views/page-context.ts'
import { DocsLayout, DocsSearch } from './docs-layout.tsx'
import type { DocsMap } from './docs-view.ts'

/** The page of the search, with slots for the query and what was found. */
export function docsSearchPage(context: PageContext, map: DocsMap): string {
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
        <DocsSearch id="search-here" query={SLOT} />
      </div>
      {SLOT}
    </DocsLayout>,
  )
}
