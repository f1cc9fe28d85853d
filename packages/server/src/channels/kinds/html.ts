/** Bounds the time of parsing. `Perspective.get` fetches no larger page. */
const MAX_LENGTH = 64 * 1024
/** Elements whose content is not shown as text. */
const HIDDEN = new Set(['script', 'style', 'template', 'textarea', 'title', 'noscript', 'iframe'])
const BLOCKS = new Set(['p', 'div', 'li', 'ul', 'ol', 'blockquote', 'pre', 'tr', 'td', 'th'])

/**
 * Reads the visible text of HTML, such as a profile. Blocks and line breaks become new lines. Broken markup never fails: an
 * unfinished tag or comment at the end is left out, as in browsers.
 * @param html only its first 64 KiB are read
 */
export async function textOfHtml(html: string): Promise<string> {
  let text = ''
  await parse(html, {
    onText(part) {
      text += part
    },
    onTag(name) {
      if (name === 'br' || BLOCKS.has(name)) text += '\n'
    },
    onEndTag(name) {
      if (BLOCKS.has(name)) text += '\n'
    },
  })
  return text.trim()
}

/**
 * Reads the `<meta property="…" content="…">` tags before the body of a page. If a property occurs twice, the first one wins.
 * @param html only its first 64 KiB are read
 * @returns the contents by property
 */
export async function metaProperties(html: string): Promise<ReadonlyMap<string, string>> {
  const properties = new Map<string, string>()
  let inBody = false
  await parse(html, {
    onTag(name, { property, content = '' }) {
      if (name === 'body') inBody = true
      if (inBody || name !== 'meta' || property === undefined || properties.has(property)) return
      properties.set(property, content)
    },
  })
  return properties
}

interface Handlers {
  readonly onText?: (text: string) => void
  /** The name is in lower case; if an attribute occurs twice, the first one wins. */
  readonly onTag: (name: string, attributes: Readonly<Record<string, string>>) => void
  /** Called for end tags that are written out, not for those that HTML implies. */
  readonly onEndTag?: (name: string) => void
}

/** Parses HTML and reports everything outside of hidden elements. */
async function parse(html: string, { onText, onTag, onEndTag }: Handlers): Promise<void> {
  // Loaded for the first page only, because loading it would slow down every start of the service.
  const { Parser } = await import('htmlparser2')
  let hiddenDepth = 0
  const parser = new Parser({
    onopentag(name, attributes) {
      if (HIDDEN.has(name)) hiddenDepth += 1
      else if (hiddenDepth === 0) onTag(name, attributes)
    },
    ontext(text) {
      if (hiddenDepth === 0) onText?.(text)
    },
    onclosetag(name, isImplied) {
      if (HIDDEN.has(name)) hiddenDepth -= 1
      else if (hiddenDepth === 0 && !isImplied) onEndTag?.(name)
    },
  })
  parser.end(html.slice(0, MAX_LENGTH))
}
