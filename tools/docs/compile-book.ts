import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Book, BookPage } from '../../packages/server/src/pages/docs/book.ts'
import { mapProse } from './fences.ts'
import { nameTemplate } from './name-template.ts'
import { renderPage } from './render-page.ts'

/** `docs/contents.json`: which files are served, under which names, in which order. */
export interface Contents {
  readonly groups: readonly {
    readonly title: string
    readonly pages: readonly {
      readonly name: string
      readonly file: string
      readonly summary: string
    }[]
  }[]
}

export function readContents(root: string): Contents {
  return JSON.parse(readFileSync(join(root, 'docs/contents.json'), 'utf8'))
}

/**
 * Makes of the repository's Markdown what the service serves.
 * @throws Error where a page has no title, or a link leads to a page of docs/ that is not there
 */
export function compileBook(root: string): Book {
  const { groups } = readContents(root)
  const entries = groups.flatMap(({ pages }) => pages)
  const names = new Map(entries.map(({ file, name }) => [file, name]))
  const pages = entries.map(({ name, file, summary }): BookPage => {
    const source = readFileSync(join(root, file), 'utf8')
    const markdown = servedMarkdown(source, file, names)
    return { name, summary: nameTemplate(summary), markdown, ...renderPage(markdown, file) }
  })
  return {
    groups: groups.map(({ title, pages }) => ({ title, pages: pages.map(({ name }) => name) })),
    pages,
  }
}

/** Without comments, with placeholders for names, and with links that lead somewhere where they are served. */
function servedMarkdown(source: string, file: string, names: ReadonlyMap<string, string>): string {
  const template = nameTemplate(source)
  const bare = mapProse(template, (prose) => prose.replaceAll(/[ \t]*<!--.*?-->\n?/gs, ''))
  mapProse(bare, (prose) => {
    if (/<[\ue000-\ue006]/.test(prose))
      throw new Error(`${file}: an address in < > needs words instead`)
    return prose
  })
  const linked = mapProse(bare, (prose) =>
    prose.replaceAll(/(?<!!)\[([^\]]*)\]\(([^()\s]+)\)/g, (link, text: string, target: string) => {
      if (/^(?:[a-z][a-z+.-]*:|#|\/|[\ue000-\ue006])/i.test(target)) return link
      const [path = '', fragment] = target.split('#')
      const name = names.get(posix.join(posix.dirname(file), path))
      // What is in the repository alone has no address of its own.
      if (name === undefined) return text
      return `[${text}](${name}.md${fragment === undefined ? '' : `#${fragment}`})`
    }),
  )
  return `${linked.trim()}\n`
}
