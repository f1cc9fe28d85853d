import MarkdownIt from 'markdown-it'

const markdown = new MarkdownIt({ html: true })

/**
 * The sentences of a page in Markdown: of its paragraphs and list items, without headings, tables, code blocks and comments.
 * Inline code is part of its sentence. A sentence ends at `.`, `?` or `!` before a space, or with its paragraph.
 */
export function sentencesOf(page: string): string[] {
  let isInTable = false
  return markdown.parse(page, {}).flatMap((token, index, tokens) => {
    if (token.type === 'table_open') isInTable = true
    if (token.type === 'table_close') isInTable = false
    const isHeading = tokens[index - 1]?.type === 'heading_open'
    if (token.type !== 'inline' || isInTable || isHeading) return []
    const parts = (token.children ?? []).filter(({ type }) => type !== 'html_inline')
    const text = parts.map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('')
    return text.split(/(?<=[.?!])\s+/).filter((sentence) => sentence !== '')
  })
}

/** The words of a text: what has a letter or a digit, between spaces. */
export function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
}

/** The text of a page between its title and its first code block; null if it has no code block. */
export function beforeCode(page: string): string | null {
  const [, ...lines] = page
    .replaceAll(/<!--.*?-->/gs, '')
    .trim()
    .split('\n')
  const first = lines.findIndex((line) => /^ {0,3}(?:```|~~~)/.test(line))
  return first === -1 ? null : lines.slice(0, first).join('\n')
}
