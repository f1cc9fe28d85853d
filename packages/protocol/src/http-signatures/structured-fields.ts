import { decodeBase64, encodeBase64 } from '../encoding.ts'

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
  /** As it was parsed; absent if it was not. */
  readonly text?: string
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

/** The usual form of an inner list. A list that can be parsed is canonical in this form. */
const CANONICAL_LIST =
  /^\((?:"[^"\\]*"(?:;key="[^"\\]*")?(?: (?=")|(?=\))))*\)(?:;[a-z]+=(?:"[^"\\]*"|[1-9][0-9]*))*$/

/** A member in its canonical form (RFC 9651 section 4.1). */
export function serializeMember(member: Member): string {
  if ('text' in member && CANONICAL_LIST.test(member.text)) return member.text
  const value = isInnerList(member)
    ? `(${member.items.map(serializeMember).join(' ')})`
    : serializeBareItem(member.item)
  return value + serializeParameters(member.params)
}

function serializeParameters(params: Parameters): string {
  let text = ''
  for (const [key, item] of params) {
    const isTrue = item.type === 'boolean' && item.value
    text += isTrue ? `;${key}` : `;${key}=${serializeBareItem(item)}`
  }
  return text
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

const TOKEN = /[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*/y
const NUMBER = /-?[0-9]+(?:\.[0-9]+)?/y
const BYTES = /:[A-Za-z0-9+/]*={0,2}:/y
const BOOLEAN = /\?[01]/y
const DATE = /@-?[0-9]{1,15}(?![0-9.])/y
const INTEGER = /^-?[0-9]{1,15}$/
const DECIMAL = /^-?[0-9]{1,12}\.[0-9]{1,3}$/

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#skipSpaces()
  }

  dictionary(): ReadonlyMap<string, Member> {
    const members = new Map<string, Member>()
    if (this.#atEnd()) return members
    for (;;) {
      const key = this.#key('a key')
      if (members.has(key)) throw new StructuredFieldError(`the member ${key} is repeated`)
      members.set(key, this.#skip('=') ? this.#member() : { item: TRUE, params: this.#params() })
      this.#skipSpaces()
      if (this.#atEnd()) return members
      this.#skipSpacesAndTabs()
      if (!this.#skip(',')) throw this.#unexpected('a comma')
      this.#skipSpacesAndTabs()
    }
  }

  onlyItem(): Item {
    const item = this.#item()
    this.#skipSpaces()
    if (this.#atEnd()) return item
    throw this.#unexpected('the end')
  }

  #member(): Member {
    return this.#skip('(') ? this.#innerList() : this.#item()
  }

  #innerList(): InnerList {
    const from = this.#at - 1
    const items: Item[] = []
    for (;;) {
      const isApart = this.#skipSpaces()
      if (this.#skip(')')) {
        const params = this.#params()
        return { items, params, text: this.#text.slice(from, this.#at) }
      }
      if (items.length > 0 && !isApart) throw this.#unexpected('a space')
      items.push(this.#item())
    }
  }

  #item(): Item {
    return { item: this.#bareItem(), params: this.#params() }
  }

  #params(): Parameters {
    if (this.#text[this.#at] !== ';') return NO_PARAMETERS
    const params = new Map<string, BareItem>()
    while (this.#skip(';')) {
      this.#skipSpaces()
      const key = this.#key('a parameter')
      if (params.has(key)) throw new StructuredFieldError(`the parameter ${key} is repeated`)
      params.set(key, this.#skip('=') ? this.#bareItem() : TRUE)
    }
    return params
  }

  #bareItem(): BareItem {
    const first = this.#text[this.#at] ?? ''
    if (first === '"') return { type: 'string', value: this.#string() }
    if (first === ':') return bytes(this.#expect(BYTES, 'a byte sequence').slice(1, -1))
    if (first === '?') return { type: 'boolean', value: this.#expect(BOOLEAN, '?0 or ?1') === '?1' }
    if (first === '@') return { type: 'date', value: Number(this.#expect(DATE, 'a date').slice(1)) }
    if (first === '-' || (first >= '0' && first <= '9')) {
      return number(this.#expect(NUMBER, 'a number'))
    }
    return { type: 'token', value: this.#expect(TOKEN, 'an item') }
  }

  /** Keys and strings are what fields consist of mostly, and a loop reads them faster than an expression. */
  #key(what: string): string {
    const from = this.#at
    while (KEY_CHARACTERS[this.#text.charCodeAt(this.#at)] === 1) this.#at += 1
    const key = this.#text.slice(from, this.#at)
    if (key !== '' && !NOT_FIRST_IN_KEY.includes(key[0] as string)) return key
    this.#at = from
    throw this.#unexpected(what)
  }

  #string(): string {
    const from = this.#at + 1
    let isEscaped = false
    for (let at = from; ; at += 1) {
      const code = this.#text.charCodeAt(at)
      if (code === QUOTE) {
        this.#at = at + 1
        const text = this.#text.slice(from, at)
        return isEscaped ? text.replace(/\\(.)/g, '$1') : text
      }
      if (code === BACKSLASH) {
        at += 1
        const escaped = this.#text.charCodeAt(at)
        if (escaped !== QUOTE && escaped !== BACKSLASH) throw this.#unexpected('a string')
        isEscaped = true
      } else if (!(code >= 0x20 && code <= 0x7e)) throw this.#unexpected('a string')
    }
  }

  #atEnd(): boolean {
    return this.#at === this.#text.length
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  /** @returns whether there were any */
  #skipSpaces(): boolean {
    const from = this.#at
    while (this.#text[this.#at] === ' ') this.#at += 1
    return this.#at > from
  }

  #skipSpacesAndTabs(): void {
    while (this.#text[this.#at] === ' ' || this.#text[this.#at] === '\t') this.#at += 1
  }

  /** @param pattern sticky; it does not match nothing */
  #expect(pattern: RegExp, what: string): string {
    const from = this.#at
    pattern.lastIndex = from
    // Without the array that `exec` would make.
    if (!pattern.test(this.#text)) throw this.#unexpected(what)
    this.#at = pattern.lastIndex
    return this.#text.slice(from, this.#at)
  }

  #unexpected(wanted: string): StructuredFieldError {
    return new StructuredFieldError(`${wanted} is expected at offset ${this.#at}`)
  }
}

const NO_PARAMETERS: Parameters = new Map()
const [QUOTE, BACKSLASH] = [0x22, 0x5c]
/** 1 for each character of a key, by its code. */
const KEY_CHARACTERS = new Uint8Array(128)
for (const each of 'abcdefghijklmnopqrstuvwxyz0123456789_.*-') {
  KEY_CHARACTERS[each.charCodeAt(0)] = 1
}
const NOT_FIRST_IN_KEY = '0123456789_.-'
const TRUE: BareItem = { type: 'boolean', value: true }

function number(text: string): BareItem {
  if (INTEGER.test(text)) return { type: 'integer', value: Number(text) }
  if (DECIMAL.test(text)) return { type: 'decimal', value: Number(text) }
  throw new StructuredFieldError('a number has too many digits')
}

/** Only canonical base64: another spelling of the same bytes would let an intermediary change a signed field. */
function bytes(text: string): BareItem {
  const value = decodeBase64(text)
  if (value === null) throw new StructuredFieldError('a byte sequence is not canonical base64')
  return { type: 'bytes', value }
}
