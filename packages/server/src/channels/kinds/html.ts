/** A piece of HTML: text as it reads, or a tag. */
export type HtmlPiece =
  | { readonly text: string }
  | {
      /** Lower-case. */
      readonly tag: string
      readonly closing: boolean
      readonly attributes: ReadonlyMap<string, string>
    }

const TAG = /^<(\/?)([a-z][a-z0-9-]*)/i
/** Elements whose content is no text for people, and in which a tag is no tag. */
const OPAQUE = new Set(['script', 'style', 'template', 'textarea', 'title', 'noscript', 'iframe'])
const BREAKS = new Set(['br', 'p', 'div', 'li', 'ul', 'ol', 'blockquote', 'pre', 'tr', 'td', 'th'])
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
])

/**
 * Takes HTML apart, in one pass and without ever failing: enough to read a profile, and a reader that never runs or
 * shows anything. What a broken tag begins is left out, as it is by browsers.
 */
export function* piecesOf(html: string): Generator<HtmlPiece> {
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    const end = open === -1 ? html.length : open
    if (end > at) yield { text: unescapeHtml(html.slice(at, end)) }
    if (open === -1) return
    const match = TAG.exec(html.slice(open, open + 64))
    if (match === null) {
      const after = afterOther(html, open)
      if (after === open + 1) yield { text: '<' }
      at = after
      continue
    }
    const [start, slash, name = ''] = match
    const tag = name.toLowerCase()
    const { after, attributes } = readAttributes(html, open + start.length)
    if (after === null) return
    yield { tag, closing: slash === '/', attributes }
    at = slash === '' && OPAQUE.has(tag) ? afterOpaque(html, after, tag) : after
  }
}

/** The text of a piece of HTML: blocks and breaks are new lines, all else leaves words as they were. */
export function textOfHtml(html: string): string {
  let text = ''
  for (const piece of piecesOf(html)) {
    if ('text' in piece) text += piece.text
    else if (BREAKS.has(piece.tag)) text += '\n'
  }
  return text.trim()
}

/** Where a comment, a declaration or a lone `<` ends. */
function afterOther(html: string, open: number): number {
  const [end, length] = html.startsWith('<!--', open)
    ? [html.indexOf('-->', open + 4), 3]
    : /[!?/]/.test(html[open + 1] ?? '')
      ? [html.indexOf('>', open), 1]
      : [open, 1]
  return end === -1 ? html.length : end + length
}

function afterOpaque(html: string, from: number, tag: string): number {
  const end = new RegExp(`</${tag}(?![a-z0-9-])`, 'gi')
  end.lastIndex = from
  return end.exec(html)?.index ?? html.length
}

const ATTRIBUTE = /[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/y

/** @returns the attributes of a tag, the first where one is there twice; `after` is null where the tag never ends */
function readAttributes(html: string, from: number) {
  const attributes = new Map<string, string>()
  let at = from
  for (;;) {
    ATTRIBUTE.lastIndex = at
    const match = ATTRIBUTE.exec(html)
    if (match === null) break
    at = ATTRIBUTE.lastIndex
    const [, name = '', double, single, bare] = match
    const key = name.toLowerCase()
    if (!attributes.has(key)) attributes.set(key, unescapeHtml(double ?? single ?? bare ?? ''))
  }
  const end = html.indexOf('>', at)
  return { attributes, after: end === -1 ? null : end + 1 }
}

/** Decodes character references, once. One that is not known stays as it is. */
function unescapeHtml(text: string): string {
  return text.replace(
    /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,4}));/gi,
    (whole, hex, dec, name) => {
      if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? whole
      const code = hex === undefined ? Number(dec) : Number.parseInt(hex, 16)
      const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      return isCharacter ? String.fromCodePoint(code) : '\ufffd'
    },
  )
}
