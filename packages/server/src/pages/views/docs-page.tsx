import type { BookPage } from '../docs/book.ts'
import type { PageContext } from './context.ts'
import { DocsLayout } from './docs-layout.tsx'
import type { DocsMap } from './docs-view.ts'
import { htmlOf } from './html.tsx'

/** A page of the documentation, whose text was Markdown. */
export function docsPage(context: PageContext, map: DocsMap, page: BookPage): string {
  const { name, title, summary, html, headings } = page
  const path = `/docs/${name}`
  return htmlOf(
    <DocsLayout
      context={context}
      title={`${title} · ${context.serviceName}`}
      description={summary}
      path={path}
      alternates={[{ type: 'text/markdown', href: `${path}.md` }]}
      place={{ map, path, headings }}
      heading={title}
    >
      <div
        className="doc mt-8"
        // biome-ignore lint/security/noDangerouslySetInnerHtml: made by our build, which writes HTML in Markdown as text
        dangerouslySetInnerHTML={{ __html: html }}
      />
      <p className="mt-14 border-t border-line pt-5 text-sm text-soft">
        This page as{' '}
        <a href={`${path}.md`} className="underline underline-offset-4 hover:text-accent">
          Markdown
        </a>
      </p>
    </DocsLayout>,
  )
}
