import type { SearchEntry } from '../../packages/server/src/pages/docs/search.ts'
import type { ApiReference } from './api-model.ts'
import type { BookPage } from './book.ts'

/** Splits a page into sections. */
export function sectionsOf({ name, title, summary, html }: BookPage): SearchEntry[] {
  const [intro = '', ...sections] = html.split(/(?=<h[2-4] id=)/)
  const first = { path: `/docs/${name}`, title, heading: '', text: `${summary} ${plain(intro)}` }
  return [
    first,
    ...sections.map((section) => {
      const [head = '', id = '', heading = ''] =
        /^<h[2-4] id="([^"]*)">(.*?)<\/h[2-4]>/s.exec(section) ?? []
      const text = plain(section.slice(head.length))
      return { path: `/docs/${name}#${id}`, title, heading: plain(heading), text }
    }),
  ]
}

/** The sections of the HTTP reference: its operations. */
export function operationSections({ sections }: ApiReference): SearchEntry[] {
  return sections
    .flatMap(({ pages }) => pages)
    .flatMap(({ name, operations }) =>
      operations.map(({ id, method, path, summary, description }) => ({
        path: `/docs/api/${name}#${id}`,
        title: 'API reference',
        heading: summary,
        text: `${id} ${method} ${path} ${description}`,
      })),
    )
}

/** Elements within a word, such as the parts of a highlighted token. */
const INLINE = /<\/?(?:span|code|a|strong|em|wbr)\b[^>]*>/g

function plain(html: string): string {
  const text = html
    .replaceAll(/<button.*?<\/button>/gs, ' ')
    .replaceAll(INLINE, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
  return unescapeHtml(text).trim()
}

/** The text of HTML without tags, as markdown-it and the highlighter escape it. */
function unescapeHtml(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')
}
