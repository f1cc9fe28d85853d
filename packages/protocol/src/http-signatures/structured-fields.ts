import { decodeKey, decodeSignature, encodeBase64 } from '../encoding.ts'

/** A bare item of RFC 9651 section 3.3. Display strings are not supported. */
export type BareItem =
  | { readonly type: 'string' | 'token'; readonly value: string }
  | { readonly type: 'integer' | 'date'; readonly value: number }
  | { readonly type: 'decimal'; readonly value: number }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'bytes'; readonly value: Uint8Array }

/** Parameters in their order. */
export type Parameters = ReadonlyMap<string, BareItem>

/** A bare item with its parameters. */
export interface Item {
  readonly item: BareItem
  readonly params: Parameters
}

/** Items in parentheses, with parameters of their own. */
export interface InnerList {
  readonly items: readonly Item[]
  readonly params: Parameters
}

/** A member of a dictionary. */
export type Member = Item | InnerList

/** The text is not a structured field, or repeats a key. */
export class StructuredFieldError extends Error {
  override readonly name = 'StructuredFieldError'
}

/** Whether a member of a dictionary is an inner list. */
export function isInnerList(member: Member): member is InnerList {
  return 'items' in member
}

/**
 * Parses a dictionary (RFC 9651 section 4.2.2). RFC 9651 lets the last of several equal keys win; this parser throws, since two
 * readers that differ in this would see different signatures.
 * @throws StructuredFieldError
 */
export function parseDictionary(text: string): ReadonlyMap<string, Member> {
  return new Parser(text).dictionary()
}

/** Parses a string item without parameters, such as `"https://host"`. @throws StructuredFieldError */
export function parseStringItem(text: string): string {
  const { item, params } = new Parser(text).onlyItem()
  if (item.type === 'string' && params.size === 0) return item.value
  throw new StructuredFieldError('not a string without parameters')
}

/** A string item (RFC 9651 section 4.1.6). @param text printable ASCII */
export function serializeString(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new StructuredFieldError('a string is printable ASCII')
  return quoted(text)
}

function quoted(text: string): string {
  return text.includes('"') || text.includes('\\')
    ? `"${text.replace(/["\\]/g, '\\$&')}"`
    : `"${text}"`
}

/** A member in its canonical form (RFC 9651 section 4.1). */
export function serializeMember(member: Member): string {
  const value = isInnerList(member)
    ? `(${member.items.map(serializeMember).join(' ')})`
    : serializeBareItem(member.item)
  return value + serializeParameters(member.params)
}

function serializeParameters(params: Parameters): string {
  return [...params]
    .map(([key, item]) => {
      const isTrue = item.type === 'boolean' && item.value
      return isTrue ? `;${key}` : `;${key}=${serializeBareItem(item)}`
    })
    .join('')
}

function serializeBareItem(item: BareItem): string {
  switch (item.type) {
    case 'string':
      return quoted(item.value)
    case 'token':
      return item.value
    case 'integer':
      return String(item.value)
    case 'date':
      return `@${item.value}`
    case 'decimal':
      return Number.isInteger(item.value) ? `${item.value}.0` : String(item.value)
    case 'boolean':
      return item.value ? '?1' : '?0'
    case 'bytes':
      return `:${encodeBase64(item.value)}:`
  }
}

const KEY = /[a-z*][a-z0-9_.*-]*/y
const TOKEN = /[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*/y
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?/y
const STRING = /"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/y
const BYTES = /:[A-Za-z0-9+/]*={0,2}:/y
const BOOLEAN = /\?[01]/y
const DATE = /@-?[0-9]{1,15}(?![0-9.])/y
const SPACES = / */y
const OPTIONAL_WHITESPACE = /[ \t]*/y
const INTEGER = /^-?[0-9]{1,15}$/
const DECIMAL = /^-?[0-9]{1,12}\.[0-9]{1,3}$/

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#take(SPACES)
  }

  dictionary(): ReadonlyMap<string, Member> {
    const members = new Map<string, Member>()
    if (this.#atEnd()) return members
    for (;;) {
      const key = this.#expect(KEY, 'a key')
      if (members.has(key)) throw new StructuredFieldError(`the member ${key} is repeated`)
      members.set(key, this.#skip('=') ? this.#member() : { item: TRUE, params: this.#params() })
      const space = this.#take(OPTIONAL_WHITESPACE)
      if (this.#atEnd() && !space.includes('\t')) return members
      if (!this.#skip(',')) throw this.#unexpected('a comma')
      this.#take(OPTIONAL_WHITESPACE)
    }
  }

  onlyItem(): Item {
    const item = this.#item()
    this.#take(SPACES)
    if (this.#atEnd()) return item
    throw this.#unexpected('the end')
  }

  #member(): Member {
    return this.#skip('(') ? this.#innerList() : this.#item()
  }

  #innerList(): InnerList {
    const items: Item[] = []
    for (;;) {
      const spaces = this.#take(SPACES)
      if (this.#skip(')')) return { items, params: this.#params() }
      if (items.length > 0 && spaces === '') throw this.#unexpected('a space')
      items.push(this.#item())
    }
  }

  #item(): Item {
    return { item: this.#bareItem(), params: this.#params() }
  }

  #params(): Parameters {
    const params = new Map<string, BareItem>()
    while (this.#skip(';')) {
      this.#take(SPACES)
      const key = this.#expect(KEY, 'a parameter')
      if (params.has(key)) throw new StructuredFieldError(`the parameter ${key} is repeated`)
      params.set(key, this.#skip('=') ? this.#bareItem() : TRUE)
    }
    return params
  }

  #bareItem(): BareItem {
    const first = this.#text[this.#at] ?? ''
    if (first === '"') {
      const text = this.#expect(STRING, 'a string')
      return { type: 'string', value: text.slice(1, -1).replace(/\\(.)/g, '$1') }
    }
    if (first === ':') return bytes(this.#expect(BYTES, 'a byte sequence').slice(1, -1))
    if (first === '?') return { type: 'boolean', value: this.#expect(BOOLEAN, '?0 or ?1') === '?1' }
    if (first === '@') return { type: 'date', value: Number(this.#expect(DATE, 'a date').slice(1)) }
    if (/[-0-9]/.test(first)) return number(this.#expect(NUMBER, 'a number'))
    return { type: 'token', value: this.#expect(TOKEN, 'an item') }
  }

  #atEnd(): boolean {
    return this.#at === this.#text.length
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [text = ''] = pattern.exec(this.#text) ?? []
    this.#at += text.length
    return text
  }

  #expect(pattern: RegExp, what: string): string {
    const text = this.#take(pattern)
    if (text === '') throw this.#unexpected(what)
    return text
  }

  #unexpected(wanted: string): StructuredFieldError {
    return new StructuredFieldError(`${wanted} is expected at offset ${this.#at}`)
  }
}

const TRUE: BareItem = { type: 'boolean', value: true }

function number(text: string): BareItem {
  if (INTEGER.test(text)) return { type: 'integer', value: Number(text) }
  if (DECIMAL.test(text)) return { type: 'decimal', value: Number(text) }
  throw new StructuredFieldError('a number has too many digits')
}

/** Only canonical base64: another spelling of the same bytes would let an intermediary change a signed field. */
function bytes(text: string): BareItem {
  // Signatures and digests, the usual lengths.
  const usual = decodeSignature(text) ?? decodeKey(text)
  if (usual !== null) return { type: 'bytes', value: usual }
  let binary: string
  try {
    binary = atob(text)
  } catch {
    throw new StructuredFieldError('a byte sequence is not base64')
  }
  const value = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  if (encodeBase64(value) !== text) {
    throw new StructuredFieldError('a byte sequence is not canonical base64')
  }
  return { type: 'bytes', value }
}
