/** A JSON text with the lines of its values. */
export interface LocatedJson {
  readonly value: unknown
  /** The line, from 1, of each value by its place, such as `policy.routes[0].path`. */
  readonly lines: ReadonlyMap<string, number>
}

export interface JsonFault {
  readonly line: number
  /** A sentence. */
  readonly message: string
}

/** An object or a list that has begun. */
interface Open {
  readonly place: string
  readonly isList: boolean
  readonly names: Set<string>
  /** The name of the current member. */
  name: string
  /** The position of the current item. */
  index: number
}

type Expected = 'value' | 'first' | 'name' | 'colon' | 'separator' | 'end'

/** Deeper than any policy. What reads and writes the value is recursive. */
const MAX_DEPTH = 16

const TOKEN = /[{}[\],:]|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[^\s{}[\],:"]+|"/g

/**
 * Parses JSON, and remembers where each value is. Refuses repeated names, which JSON.parse overwrites.
 * @param root the place of the outermost value
 */
export function readJson(text: string, root: string): LocatedJson | JsonFault {
  const lines = new Map<string, number>()
  const open: Open[] = []
  let expected: Expected = 'value'
  let line = 1
  let end = 0
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    line += text.slice(end, index).split('\n').length - 1
    end = index
    const fault = (message: string): JsonFault => ({ line, message })
    const top = open.at(-1)
    const place = placeIn(top, root)
    if (expected === 'end') return fault(`${token} comes after the end of the policy.`)
    if (top !== undefined && isEndOf(top, token, expected)) {
      open.pop()
      expected = afterValue(open)
    } else if (expected === 'separator') {
      if (token !== ',') return fault(`Enter a comma or ${top?.isList ? ']' : '}'} before ${token}`)
      if (top !== undefined) top.index += 1
      expected = top?.isList ? 'value' : 'name'
    } else if (expected === 'colon') {
      if (token !== ':') return fault(`Enter a colon before ${token}`)
      expected = 'value'
    } else if (
      top !== undefined &&
      (expected === 'name' || (expected === 'first' && !top.isList))
    ) {
      const name = scalarOf(token)
      if (typeof name !== 'string') return fault(`Enter a field in double quotes before ${token}`)
      if (top.names.has(name)) return fault(`“${name}” is there twice.`)
      top.names.add(name)
      top.name = name
      lines.set(placeIn(top, root), line)
      expected = 'colon'
    } else {
      if (!lines.has(place)) lines.set(place, line)
      if (token === '{' || token === '[') {
        if (open.length === MAX_DEPTH) return fault('This is nested too deeply.')
        open.push({ place, isList: token === '[', names: new Set(), name: '', index: 0 })
        expected = 'first'
      } else if (scalarOf(token) === undefined) {
        return fault(`${token} is not a JSON value.`)
      } else expected = afterValue(open)
    }
  }
  if (expected === 'end') return { value: JSON.parse(text), lines }
  const missing = open.map(({ isList }) => (isList ? ']' : '}')).reverse()
  return { line, message: `The text ends before the policy does. Missing: ${missing.join(' ')}` }
}

function placeIn(top: Open | undefined, root: string): string {
  if (top === undefined) return root
  return top.isList ? `${top.place}[${top.index}]` : `${top.place}.${top.name}`
}

function isEndOf({ isList }: Open, token: string, expected: Expected): boolean {
  return token === (isList ? ']' : '}') && (expected === 'first' || expected === 'separator')
}

function afterValue(open: readonly Open[]): Expected {
  return open.length === 0 ? 'end' : 'separator'
}

/** @returns undefined if the token is no text, number, boolean or null */
function scalarOf(token: string): unknown {
  try {
    return JSON.parse(token)
  } catch {
    return undefined
  }
}
