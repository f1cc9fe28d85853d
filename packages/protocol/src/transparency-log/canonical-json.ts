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
  if (typeof value === 'string') return canonicalText(value)
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError('JSON has finite numbers only')
  }
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  const members = value as { readonly [member: string]: JsonValue }
  let text = ''
  // Without a comparison of its own, `sort` compares UTF-16 code units.
  for (const name of Object.keys(members).sort()) {
    if (text !== '') text += ','
    text += `${canonicalText(name)}:${canonicalJson(members[name] as JsonValue)}`
  }
  return `{${text}}`
}

/** Characters that JSON writes as they are. */
const PLAIN = /^[ !#-[\]-~]*$/
const LONE_SURROGATE = /\p{Cs}/u

function canonicalText(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  if (LONE_SURROGATE.test(text)) throw new RangeError('the text is not well-formed Unicode')
  return JSON.stringify(text)
}
