/** Parsers differ in how deep they read, so nothing that we verify is nested deeper. */
const MAX_DEPTH = 32
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses JSON (RFC 8259) in UTF-8, without a byte order mark.
 * @throws SyntaxError, TypeError if it is none, or nested deeper than 32 levels
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  return parseWithin(UTF_8.decode(bytes), MAX_DEPTH)
}

/**
 * Parses JSON that others sign, which every parser must read alike: as `parseJsonBytes`, and without repeated members.
 * @param maxDepth of objects and arrays within each other
 * @throws SyntaxError, TypeError
 */
export function parseUnambiguousJson(bytes: Uint8Array, maxDepth: number): unknown {
  const text = UTF_8.decode(bytes)
  const value = parseWithin(text, maxDepth)
  if (hasRepeatedMembers(text, value)) throw new SyntaxError('a member occurs twice')
  return value
}

function parseWithin(text: string, maxDepth: number): unknown {
  const value: unknown = JSON.parse(text)
  if (isDeeperThan(value, maxDepth)) throw new SyntaxError(`deeper than ${maxDepth} levels`)
  return value
}

/**
 * Whether an object in JSON text has two members of one name, of which parsers take either.
 * @param value what `JSON.parse` made of the text
 */
export function hasRepeatedMembers(text: string, value: unknown): boolean {
  return countMembersInText(text) !== countMembersInValue(value)
}

/** Counts members as colons outside strings: in valid JSON, exactly one follows each name. */
function countMembersInText(text: string): number {
  let members = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 0x22) inString = !inString
    else if (inString && c === 0x5c) i += 1
    else if (!inString && c === 0x3a) members += 1
  }
  return members
}

/** Not recursive: a body of 16 KiB can be nested 8,000 levels deep. */
function countMembersInValue(value: unknown): number {
  let members = 0
  const pending = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== 'object' || next === null) continue
    const children = Object.values(next)
    if (!Array.isArray(next)) members += children.length
    for (const child of children) pending.push(child)
  }
  return members
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeeperThan(each, levels - 1))
}
