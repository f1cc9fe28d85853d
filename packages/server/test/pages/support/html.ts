import assert from 'node:assert/strict'

/** What a reader reads of a document: its body without markup, spaces made one. */
export function textOf(html: string): string {
  const body = html.replace(/^.*?<body[^>]*>/s, '')
  const text = body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
  return unescaped(text).replaceAll(' .', '.').replaceAll(' ,', ',')
}

/** The title, or the content of a `<meta>` by its name or property, as it stands in the markup. */
export function metaOf(html: string, name: string): string {
  const pattern =
    name === 'title'
      ? /<title>([^<]*)<\/title>/
      : new RegExp(`<meta (?:name|property)="${name}" content="([^"]*)"`)
  const content = pattern.exec(html)?.[1]
  assert.ok(content !== undefined, `the page has no ${name}`)
  return content
}

/** What the page says in JSON-LD. */
export function jsonLdOf(html: string): Record<string, unknown> {
  const [, json] = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(html) ?? []
  assert.ok(json !== undefined, 'the page has JSON-LD')
  return JSON.parse(json)
}

/** Text as it was before it became markup. */
export function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&')
}
