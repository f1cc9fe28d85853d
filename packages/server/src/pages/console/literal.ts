/** Longest value that stays on one line. */
const LINE = 64

/** JSON-like data as a literal of JavaScript: two spaces a level, single quotes, short values on one line. */
export function literal(value: unknown, indent = ''): string {
  const line = onOneLine(value)
  if (typeof value !== 'object' || value === null || line.length <= LINE) return line
  const deeper = `${indent}  `
  if (Array.isArray(value)) {
    const items = value.map((each) => `${deeper}${literal(each, deeper)},\n`)
    return `[\n${items.join('')}${indent}]`
  }
  const members = Object.entries(value).map(
    ([name, each]) => `${deeper}${name}: ${literal(each, deeper)},\n`,
  )
  return `{\n${members.join('')}${indent}}`
}

/** Names of members are those of a policy: identifiers. */
function onOneLine(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => `${name}: ${onOneLine(each)}`)
  return `{ ${members.join(', ')} }`
}

function quoted(text: string): string {
  return /^[^'"\\\p{Cc}\u2028\u2029]*$/u.test(text) ? `'${text}'` : JSON.stringify(text)
}
