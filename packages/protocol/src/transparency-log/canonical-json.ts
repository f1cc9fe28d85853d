/** Data that JSON can carry. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue }

/**
 * JSON in the canonical form of RFC 8785 (JCS): members sorted by their UTF-16 code units, no white space, numbers and strings as
 * ECMAScript writes them.
 * @throws RangeError for numbers that are not finite and for text that is not well-formed
 */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError('JSON has finite numbers only')
  }
  if (typeof value === 'string' && /\p{Cs}/u.test(value)) {
    throw new RangeError('the text is not well-formed Unicode')
  }
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, inner]) => `${canonicalJson(name)}:${canonicalJson(inner)}`).join()}}`
}
