/** What a rule accepts for a claim: the value itself, or one of several strings. */
export type MatchValue = string | boolean | readonly string[]

/** The claims that a platform token must have, by JSON Pointer (RFC 6901). */
export type Match = Readonly<Record<string, MatchValue>>

export const MAX_MATCHES = 16
const MAX_POINTER_LENGTH = 256
const MAX_VALUE_LENGTH = 512

/** Claims that the checks of every token are about. A rule that matched them would say nothing, or change what they mean. */
const RESERVED = ['/aud', '/exp', '/nbf', '/iat', '/jti', '/iss']

const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/u

/**
 * What is wrong with the `match` of a rule, as a sentence; null if nothing is.
 * @param match of the right types (`enrolmentRuleSchema`)
 */
export function matchProblem(match: Match): string | null {
  const entries = Object.entries(match)
  if (entries.length < 1 || entries.length > MAX_MATCHES) {
    return `match has 1 to ${MAX_MATCHES} entries.`
  }
  for (const [pointer, value] of entries) {
    const problem = pointerProblem(pointer) ?? valueProblem(value)
    if (problem !== null) return `match: ${pointer.slice(0, MAX_POINTER_LENGTH)} ${problem}`
  }
  return null
}

/** What is wrong with a JSON Pointer to a claim, to continue a sentence that begins with it; null if nothing is. */
export function pointerProblem(pointer: string): string | null {
  if (pointer.length > MAX_POINTER_LENGTH) return `is longer than ${MAX_POINTER_LENGTH} characters.`
  if (!POINTER.test(pointer)) return 'is no JSON Pointer (RFC 6901), such as /sub.'
  if (RESERVED.includes(pointer)) return 'is checked for every token, and cannot be matched.'
  return null
}

function valueProblem(value: MatchValue): string | null {
  const values = Array.isArray(value) ? value : [value]
  if (values.length < 1 || values.length > MAX_MATCHES) {
    return `needs a value, or a list of 1 to ${MAX_MATCHES}.`
  }
  const isTooLong = values.some((each) => String(each).length > MAX_VALUE_LENGTH)
  return isTooLong ? `has a value of more than ${MAX_VALUE_LENGTH} characters.` : null
}

/**
 * The value at a JSON Pointer (RFC 6901), which leads through objects only: in an array, the place of a claim would be a matter of
 * order.
 * @returns undefined if there is none
 */
export function valueAt(claims: object, pointer: string): unknown {
  let value: unknown = claims
  for (const token of pointer.slice(1).split('/')) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    if (!Object.hasOwn(value, name)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}

/** A claim that is not what a rule asks for. */
export interface Mismatch {
  readonly pointer: string
  /** What the token has; undefined: nothing. */
  readonly value: unknown
}

/** The first claim, in the order of the rule, that does not match; null if all do. Compares types and code units. */
export function firstMismatch(match: Match, claims: object): Mismatch | null {
  for (const [pointer, wanted] of Object.entries(match)) {
    const value = valueAt(claims, pointer)
    const isMatch = Array.isArray(wanted)
      ? typeof value === 'string' && wanted.includes(value)
      : value === wanted
    if (!isMatch) return { pointer, value }
  }
  return null
}
