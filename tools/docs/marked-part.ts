/**
 * Replaces the content between `<!-- name -->` and `<!-- /name -->`.
 * @throws Error if the page has no such part
 */
export function withPart(page: string, name: string, content: string): string {
  const begin = page.search(new RegExp(`<!-- ${name}(?::[^>]*)? -->\n`))
  const end = page.indexOf(`<!-- /${name} -->`)
  if (begin === -1 || end < begin) throw new Error(`The page has no part for ${name}.`)
  const start = page.indexOf('\n', begin) + 1
  return `${page.slice(0, start)}\n${content.trim()}\n\n${page.slice(end)}`
}
