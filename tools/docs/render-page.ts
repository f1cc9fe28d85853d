import MarkdownIt from 'markdown-it'
import { PLACEHOLDERS } from '../../packages/server/src/pages/docs/deployment-names.ts'
import type { BookHeading } from './book.ts'
import { codeBlock } from './code-block.ts'

/** A rendered page. The title is separate, because the surrounding page renders it. */
export interface Rendered {
  readonly title: string
  readonly html: string
  readonly headings: readonly BookHeading[]
}

type Token = ReturnType<typeof markdown.parse>[number]

/** HTML in Markdown is escaped. Plain URLs are not converted to links. */
const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false })
markdown.normalizeLink = (url) => servedAddress(url)
// Makes code and tables scrollable by themselves, also with the keyboard.
markdown.renderer.rules.fence = (tokens, index) => {
  const { content = '', info = '' } = tokens[index] ?? {}
  return codeBlock(content, languageOf(info))
}
markdown.renderer.rules.code_block = markdown.renderer.rules.fence
// A line may end after a slash in a path or URL.
markdown.renderer.rules.code_inline = (tokens, index) => {
  const code = markdown.utils.escapeHtml(tokens[index]?.content ?? '')
  return `<code>${code.replaceAll(/(?<=[^\s/:])\/(?=[^\s/])/g, '/<wbr>')}</code>`
}
markdown.renderer.rules.table_open = () =>
  '<div class="doc-table" role="group" aria-label="Table" tabindex="0"><table>\n'
markdown.renderer.rules.table_close = () => '</table></div>\n'

/**
 * @param figure returns the SVG at a path. It becomes part of the page
 * @throws Error if a page does not begin with its title, or contains another picture, because pictures are not served
 */
export function renderPage(
  source: string,
  file: string,
  figure: (path: string) => string,
): Rendered {
  const tokens = markdown.parse(source, {})
  const [open, title] = tokens
  if (open?.tag !== 'h1' || title === undefined) throw new Error(`${file} has no title`)
  const rest = withTabs(withFigures(tokens.slice(3), file, figure))
  const headings = nameHeadings(rest)
  return {
    title: plain(title),
    html: withoutEmptyHeads(markdown.renderer.render(rest, markdown.options, {})),
    headings,
  }
}

/** Replaces each paragraph that is one SVG by the SVG itself, which then has the colours of the page. */
function withFigures(
  tokens: readonly Token[],
  file: string,
  figure: (path: string) => string,
): Token[] {
  return tokens.flatMap((token, index) => {
    const path = pictureIn(token)
    if (path === null) {
      const isAround = [tokens[index - 1], tokens[index + 1]].some(
        (each) => pictureIn(each) !== null,
      )
      return isAround && token.type.startsWith('paragraph_') ? [] : [token]
    }
    if (token.children?.length !== 1 || !/^images\/[a-z-]+\.svg$/.test(path)) {
      throw new Error(`${file} shows a picture that is no SVG in a paragraph of its own`)
    }
    // Its style is for readers of the file alone: pages have no inline styles.
    const svg = figure(path).replace(/<style>.*?<\/style>\n?/s, '')
    const content = `<figure class="doc-figure">${svg.trim()}</figure>\n`
    return [Object.assign(token, { type: 'html_block', content })]
  })
}

/** The address of the picture in a paragraph; null: it has none. */
function pictureIn(token: Token | undefined): string | null {
  const image = token?.children?.find(({ type }) => type === 'image')
  return image === undefined ? null : String(image.attrGet('src'))
}

/** Markdown tables always have a head. One without text is removed. */
function withoutEmptyHeads(html: string): string {
  const cells = html.replaceAll(/<th( [^>]*)?><\/th>/g, '<td></td>')
  return cells.replaceAll(/<thead>\n<tr>\n(?:<td><\/td>\n)+<\/tr>\n<\/thead>\n/g, '')
}

/** Gives every heading a unique id made from its text. */
function nameHeadings(tokens: readonly Token[]): BookHeading[] {
  const taken = new Set<string>()
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open') return []
    const text = plain(tokens[index + 1] as Token)
    const slug = slugOf(text)
    let id = slug
    for (let n = 1; taken.has(id); n++) id = `${slug}-${n}`
    taken.add(id)
    token.attrSet('id', id)
    return [{ id, text, level: Number(token.tag.slice(1)) }]
  })
}

/** Builds ids as GitHub does, so that links within a page work in both places. Leaves out deployment names. */
function slugOf(text: string): string {
  const words = text.toLowerCase().replaceAll(PLACEHOLDERS, '')
  return words.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-') || 'part'
}

function plain({ children }: Token): string {
  return (children ?? []).map((each: Token) => each.content).join('')
}

/** `quickstart.md#x` becomes `/docs/quickstart#x`, and so does `../quickstart.md#x` of an example. */
function servedAddress(url: string): string {
  const [, name, fragment = ''] = /^(?:\.\.\/)?((?:examples\/)?[\w-]+)\.md(#.*)?$/.exec(url) ?? []
  return name === undefined ? url : `/docs/${name}${fragment}`
}

function languageOf(info: string): string {
  return info.trim().split(/\s+/)[0] ?? ''
}

/** The label of a fence such as ```` ```sh tab="curl" ````. Adjacent fences with labels become tabs. */
function tabOf({ type, info }: Token): string | null {
  return type === 'fence' ? (/\btab="([^"]+)"/.exec(info)?.[1] ?? null) : null
}

/** Replaces adjacent fences with labels by one block of tabs: radio buttons, which work without JavaScript. */
function withTabs(tokens: readonly Token[]): Token[] {
  const result: Token[] = []
  let group: Token[] = []
  let groups = 0
  const finish = () => {
    const [first] = group
    if (first === undefined) return
    groups += 1
    result.push(
      Object.assign(first, { type: 'html_block', content: tabs(group, `tabs-${groups}`) }),
    )
    group = []
  }
  for (const token of tokens) {
    if (tabOf(token) !== null) group.push(token)
    else {
      finish()
      result.push(token)
    }
  }
  finish()
  return result
}

function tabs(fences: readonly Token[], name: string): string {
  const each = fences.map((fence, index) => {
    const id = `${name}-${index + 1}`
    const label = markdown.utils.escapeHtml(tabOf(fence) ?? '')
    return (
      `<input type="radio" id="${id}" name="${name}"${index === 0 ? ' checked' : ''}>` +
      `<label for="${id}">${label}</label>` +
      `<div class="doc-tab">${codeBlock(fence.content, languageOf(fence.info))}</div>`
    )
  })
  return `<div class="doc-tabs" role="radiogroup" aria-label="Language">${each.join('')}</div>\n`
}
