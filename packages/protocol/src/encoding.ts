const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUE = new Uint8Array(128)
for (let i = 0; i < 64; i++) VALUE[ALPHABET.charCodeAt(i)] = i

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
  let text = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i
    const bits = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    text += ALPHABET[bits >> 18] as string
    text += ALPHABET[(bits >> 12) & 63]
    text += left > 1 ? ALPHABET[(bits >> 6) & 63] : '='
    text += left > 2 ? ALPHABET[bits & 63] : '='
  }
  return text
}

/** URL-safe base64 without padding (RFC 4648 section 5), as in JWKs and thumbprints. */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

const encoder = new TextEncoder()

/** Encodes well-formed text as UTF-8. A lone surrogate would become U+FFFD, which is another text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}
