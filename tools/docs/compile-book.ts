import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'
import type { Book, BookPage } from './book.ts'
import { type ExampleFile, exampleMarkdown, readExample } from './example-page.ts'
import { nameTemplate } from './name-template.ts'
import { renderPage } from './render-page.ts'

/** `docs/contents.json`: the served files with their names, in order. */
export interface Contents {
  readonly groups: readonly { readonly title: string; readonly pages: readonly Entry[] }[]
}

interface Entry {
  readonly name: string
  readonly file: string
  readonly summary: string
  /** Of an example, whose README is `file`: its other files. What is not listed here is never served. */
  readonly files?: readonly string[]
}

export function readContents(root: string): Contents {
  return JSON.parse(readFileSync(join(root, 'docs/contents.json'), 'utf8'))
}

/**
 * Compiles the repository's Markdown into the pages that the service serves.
 * @throws Error if a page has no title or links to a missing page of docs/
 */
export function compileBook(root: string): Book {
  const { groups } = readContents(root)
  const entries = groups.flatMap(({ pages }) => pages)
  const names = new Map(entries.map(({ file, name }) => [file, name]))
  const pages = entries.map((entry) => compilePage(root, entry, names))
  return {
    groups: groups.map(({ title, pages }) => ({ title, pages: pages.map(({ name }) => name) })),
    pages,
  }
}

function compilePage(
  root: string,
  { name, file, summary, files: shown }: Entry,
  names: ReadonlyMap<string, string>,
): BookPage {
  const source = readFileSync(join(root, file), 'utf8')
  const text = servedMarkdown(source, file, names)
  let markdown = text
  let files: readonly ExampleFile[] = []
  if (shown !== undefined) {
    const read = readExample(root, posix.dirname(file), shown)
    markdown = exampleMarkdown(text, name, read)
    files = [{ path: 'README.md', text: withAbsoluteLinks(text) }, ...read]
  }
  const figure = (path: string) => readFileSync(join(root, posix.dirname(file), path), 'utf8')
  return {
    name,
    summary: nameTemplate(summary),
    markdown: markdown.replaceAll(/!\[([^\]]*)\]\([^()\s]+\)/g, 'Figure: $1'),
    ...renderPage(markdown, file, figure),
    files,
  }
}

/** Makes links to other pages absolute, for a text that is read elsewhere. */
export function withAbsoluteLinks(markdown: string): string {
  return markdown.replaceAll(
    /\]\(((?:\.\.\/)?(?:examples\/)?[\w-]+\.md)(#[\w-]+)?\)/g,
    (_link, page: string, fragment = '') =>
      `](${PLACEHOLDER.baseUrl}/docs/${page.replace('../', '')}${fragment})`,
  )
}

/**
 * Removes comments, inserts placeholders for names, and rewrites links for the served pages. In links, pages of examples are in a
 * folder of their own.
 */
function servedMarkdown(source: string, file: string, names: ReadonlyMap<string, string>): string {
  const up = names.get(file)?.includes('/') ? '../' : ''
  const template = nameTemplate(source)
  const bare = mapProse(template, (prose) => prose.replaceAll(/[ \t]*<!--.*?-->\n?/gs, ''))
  mapProse(bare, (prose) => {
    if (/<[\ue000-\ue009]/.test(prose))
      throw new Error(`${file}: an address in < > needs words instead`)
    return prose
  })
  const linked = mapProse(bare, (prose) =>
    prose.replaceAll(/(?<!!)\[([^\]]*)\]\(([^()\s]+)\)/g, (link, text: string, target: string) => {
      if (/^(?:[a-z][a-z+.-]*:|#|\/|[\ue000-\ue009])/i.test(target)) return link
      const [path = '', fragment] = target.split('#')
      const name = names.get(posix.join(posix.dirname(file), path))
      // Files that are only in the repository have no URL on the service.
      if (name === undefined) return text
      return `[${text}](${up}${name}.md${fragment === undefined ? '' : `#${fragment}`})`
    }),
  )
  return `${linked.trim()}\n`
}
/** A section of Markdown: a fenced block with its fences, or the text between two. */
interface Section {
  readonly fenced: boolean
  readonly text: string
}

/** Splits Markdown into code and prose, because links and comments in code must not be processed. */
function splitFences(markdown: string): Section[] {
  const stretches: { fenced: boolean; lines: string[] }[] = []
  let fence: string | null = null
  for (const line of markdown.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    const closes = fence !== null && mark?.startsWith(fence) === true && line.trim() === mark
    const opens = fence === null && mark !== undefined
    const last = stretches.at(-1)
    if (opens || last === undefined || last.fenced !== (fence !== null)) {
      stretches.push({ fenced: opens || fence !== null, lines: [line] })
    } else last.lines.push(line)
    if (opens) fence = mark
    else if (closes) fence = null
  }
  return stretches.map(({ fenced, lines }) => ({ fenced, text: lines.join('\n') }))
}

/** Applies a change to prose only. */
function mapProse(markdown: string, change: (prose: string) => string): string {
  return splitFences(markdown)
    .map(({ fenced, text }) => (fenced ? text : change(text)))
    .join('\n')
}
