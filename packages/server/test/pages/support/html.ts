import assert from 'node:assert/strict'

/** The text of a document's body without markup, white space collapsed. A place for a line break is no space. */
export function textOf(html: string): string {
  const body = html.replace(/^.*?<body[^>]*>/s, '')
  const text = body
    .replaceAll(/<wbr ?\/?>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
  return unescaped(text).replaceAll(' .', '.').replaceAll(' ,', ',')
}

/** The raw title, or the raw content of a `<meta>` by name or property. */
export function metaOf(html: string, name: string): string {
  const pattern =
    name === 'title'
      ? /<title>([^<]*)<\/title>/
      : new RegExp(`<meta (?:name|property)="${name}" content="([^"]*)"`)
  const content = pattern.exec(html)?.[1]
  assert.ok(content !== undefined, `the page has no ${name}`)
  return content
}

/** The JSON-LD of a page. */
export function jsonLdOf(html: string): Record<string, unknown> {
  const [, json] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(html) ?? []
  assert.ok(json !== undefined, 'the page has JSON-LD')
  return JSON.parse(json)
}

/** Decodes HTML character references. */
export function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')
}
