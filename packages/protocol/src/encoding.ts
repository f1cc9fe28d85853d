const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const CODES = codesOf(ALPHABET)
const URL_CODES = codesOf(`${ALPHABET.slice(0, 62)}-_`)
const VALUE = new Uint8Array(128)
for (let i = 0; i < 64; i++) VALUE[ALPHABET.charCodeAt(i)] = i

function codesOf(alphabet: string): Uint8Array {
  return Uint8Array.from(alphabet, (each) => each.charCodeAt(0))
}

/** 32 bytes in canonical base64: RFC 4648 section 4, padded, unused bits zero. */
export const KEY_PATTERN = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/
/** 64 bytes in canonical base64. */
export const SIGNATURE_PATTERN = /^[A-Za-z0-9+/]{85}[AQgw]==$/

/** Decodes text that matches one of the patterns above. */
function decodeCanonical(text: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (let i = 0; at < length; i += 4) {
    const bits =
      ((VALUE[text.charCodeAt(i)] as number) << 18) |
      ((VALUE[text.charCodeAt(i + 1)] as number) << 12) |
      ((VALUE[text.charCodeAt(i + 2)] as number) << 6) |
      (VALUE[text.charCodeAt(i + 3)] as number)
    bytes[at++] = bits >> 16
    if (at < length) bytes[at++] = bits >> 8
    if (at < length) bytes[at++] = bits
  }
  return bytes
}

/** The 32 bytes of a key, or null if the text is not canonical base64 of them. */
export function decodeKey(text: string): Uint8Array | null {
  return KEY_PATTERN.test(text) ? decodeCanonical(text, 32) : null
}

/** The 64 bytes of a signature, or null if the text is not canonical base64 of them. */
export function decodeSignature(text: string): Uint8Array | null {
  return SIGNATURE_PATTERN.test(text) ? decodeCanonical(text, 64) : null
}

/** The bytes of canonical base64 (RFC 4648 section 4, padded, unused bits zero), or null if the text is another. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = decodeCanonical(text, (text.length / 4) * 3 - padding)
  return encodeBase64(bytes) === text ? bytes : null
}

/** Standard base64 with padding (RFC 4648 section 4). */
export function encodeBase64(bytes: Uint8Array): string {
  return encodeWith(CODES, '=', bytes)
}

/** URL-safe base64 without padding (RFC 4648 section 5), as in JWKs and thumbprints. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeWith(URL_CODES, '', bytes)
}

function encodeWith(alphabet: Uint8Array, padding: string, bytes: Uint8Array): string {
  const code = (bits: number) => alphabet[bits & 63] as number
  const whole = bytes.length - (bytes.length % 3)
  let text = ''
  for (let i = 0; i < whole; i += 3) {
    const bits =
      ((bytes[i] as number) << 16) | ((bytes[i + 1] as number) << 8) | (bytes[i + 2] as number)
    text += String.fromCharCode(code(bits >> 18), code(bits >> 12), code(bits >> 6), code(bits))
  }
  if (whole === bytes.length) return text
  const bits = ((bytes[whole] as number) << 16) | ((bytes[whole + 1] ?? 0) << 8)
  const head = text + String.fromCharCode(code(bits >> 18), code(bits >> 12))
  return bytes.length - whole === 1
    ? head + padding + padding
    : head + String.fromCharCode(code(bits >> 6)) + padding
}

/** The bytes of canonical base64url without padding (RFC 4648 section 5), or null if the text is another. */
export function decodeBase64Url(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return encodeBase64Url(bytes) === text ? bytes : null
}

const encoder = new TextEncoder()

/** Encodes well-formed text as UTF-8. A lone surrogate would become U+FFFD, which is another text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}
