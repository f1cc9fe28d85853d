/** A value of a JSON body: its JSON Pointer (RFC 6901), and its text as a person reads it. */
export type JsonRow = readonly [pointer: string, text: string]

/** The body cannot be shown so that every reader understands the same. `message` completes “The body …”. */
export class JsonRowsError extends Error {
  override readonly name = 'JsonRowsError'
}

/** The most values of a body. */
export const MAX_JSON_ROWS = 40
/** The deepest object or array of a body: the body itself is the first level. */
export const MAX_JSON_LEVELS = 5

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs
const NAME = /^[\x21-\x7e]{1,64}$/
const LONE_SURROGATE = /\p{Cs}/u

/**
 * The values of a JSON body in their order. Numbers and literals are as written (`1e3`, `129.00`), strings in quotation marks,
 * with the characters that `visibleText` escapes; an empty object or array is a value too.
 * @throws JsonRowsError for what two readers could take differently: names that are equal but for their case, since some
 *   decoders ignore it, `__proto__`, names outside ASCII, text that is not well-formed; more than 40 values or 5 levels; no object
 */
export function jsonRows(text: string): readonly JsonRow[] {
  if (!isJson(text)) throw new JsonRowsError('is not JSON.')
  const tokens = text.match(TOKEN) ?? []
  if (tokens[0] !== '{') throw new JsonRowsError('is not a JSON object.')
  const rows: JsonRow[] = []
  let at = 0
  const add = (pointer: string, shown: string) => {
    if (rows.length === MAX_JSON_ROWS) {
      throw new JsonRowsError(`has more than ${MAX_JSON_ROWS} values.`)
    }
    rows.push([pointer, shown])
  }
  const readMembers = (pointer: string, level: number) => {
    const names = new Set<string>()
    do {
      const name = nameOf(tokens[at] as string)
      if (names.size === names.add(name.toLowerCase()).size) {
        throw new JsonRowsError(`has two members ${name} in one object, or names like it.`)
      }
      at += 2
      readValue(`${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, level)
    } while (tokens[at++] === ',')
  }
  const readItems = (pointer: string, level: number) => {
    let index = 0
    do readValue(`${pointer}/${index++}`, level)
    while (tokens[at++] === ',')
  }
  const readValue = (pointer: string, level: number) => {
    const token = tokens[at++] as string
    if (token !== '{' && token !== '[') {
      add(pointer, token.startsWith('"') ? quoted(decoded(token)) : token)
      return
    }
    if (level > MAX_JSON_LEVELS) {
      throw new JsonRowsError(`is nested deeper than ${MAX_JSON_LEVELS} levels.`)
    }
    const next = tokens[at] as string
    if (next === '}' || next === ']') {
      at += 1
      add(pointer, token + next)
    } else if (token === '{') readMembers(pointer, level + 1)
    else readItems(pointer, level + 1)
  }
  readValue('', 1)
  return rows
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function nameOf(token: string): string {
  const name = decoded(token)
  if (!NAME.test(name)) {
    throw new JsonRowsError('has a name that is not 1 to 64 visible ASCII characters.')
  }
  if (name === '__proto__') throw new JsonRowsError('has a member __proto__.')
  return name
}

function decoded(token: string): string {
  const text: string = JSON.parse(token)
  if (LONE_SURROGATE.test(text))
    throw new JsonRowsError('has text that is not well-formed Unicode.')
  return text
}

function quoted(text: string): string {
  return `"${visibleText(text.replaceAll(/["\\]/g, '\\$&'))}"`
}

/**
 * Everything but letters, marks, digits, punctuation, symbols and the space; what is not drawn, and a fourth mark on one letter,
 * since marks without end cover other rows. The bracket of an escape is escaped too, so that nobody can write one.
 */
const UNUSUAL =
  /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\p{Default_Ignorable_Code_Point}|[\u27e8\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}]|(?<=\p{M}{3})\p{M}/gu

/** Text in which control characters, direction overrides and characters that are not drawn appear as `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return text.replaceAll(UNUSUAL, (character) => {
    const code = (character.codePointAt(0) as number).toString(16).toUpperCase()
    return `⟨U+${code.padStart(4, '0')}⟩`
  })
}
