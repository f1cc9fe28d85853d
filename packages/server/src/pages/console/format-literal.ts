/** The longest line that a value shares with its name. */
const LINE = 60

interface Style {
  readonly text: (text: string) => string
  readonly name: (name: string) => string
  /** After the last item of several lines. */
  readonly lastComma: string
}

const JSON_STYLE: Style = { text: JSON.stringify, name: JSON.stringify, lastComma: '' }

/** Names of members are those of a policy: identifiers. */
const SCRIPT_STYLE: Style = { text: quoted, name: (name) => name, lastComma: ',' }

/** JSON-like data as JSON: two spaces a level, short values on one line. */
export function formatJson(value: unknown): string {
  return format(value, '', '', JSON_STYLE)
}

/** JSON-like data as a literal of JavaScript: two spaces a level, single quotes, short values on one line. */
export function formatScript(value: unknown): string {
  return format(value, '', '', SCRIPT_STYLE)
}

/** @param name with a colon; empty for an item of a list */
function format(value: unknown, indent: string, name: string, style: Style): string {
  const line = onOneLine(value, style)
  if (typeof value !== 'object' || value === null) return name + line
  const deeper = `${indent}  `
  const isList = Array.isArray(value)
  const items = isList
    ? value.map((each) => deeper + format(each, deeper, '', style))
    : Object.entries(value).map(
        ([key, each]) => deeper + format(each, deeper, `${style.name(key)}: `, style),
      )
  const isShort = indent !== '' && indent.length + name.length + line.length <= LINE
  if (items.length === 0 || isShort) return name + line
  const [begin, end] = isList ? '[]' : '{}'
  return `${name}${begin}\n${items.join(',\n')}${style.lastComma}\n${indent}${end}`
}

function onOneLine(value: unknown, style: Style): string {
  if (typeof value === 'string') return style.text(value)
  if (Array.isArray(value)) return `[${value.map((each) => onOneLine(each, style)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, each]) => `${style.name(name)}: ${onOneLine(each, style)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function quoted(text: string): string {
  return /^[^'"\\\p{Cc}\p{Cs}\u2028\u2029]*$/u.test(text) ? `'${text}'` : JSON.stringify(text)
}
