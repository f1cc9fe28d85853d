/** The Bitcoin base58 alphabet: no `0`, `O`, `I`, `l` (contract 2.1). */
export const BASE58_ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** The alphabet as a character class of a regular expression. */
export const BASE58_CLASS = '[1-9A-HJ-NP-Za-km-z]'

/** Rejection sampling: bytes from the largest multiple of 58 on would make the first letters more likely. */
const UNBIASED_BELOW = 256 - (256 % 58)

/**
 * A uniformly random base58 string.
 * @param length in characters
 * @param randomBytes a cryptographically secure source of `count` bytes
 */
export function randomBase58(length: number, randomBytes: (count: number) => Uint8Array): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < UNBIASED_BELOW && text.length < length) text += BASE58_ALPHABET[byte % 58]
    }
  }
  return text
}

/** Encodes bytes as base58 (`base58btc` of multibase): each leading zero byte becomes `1`. */
export function encodeBase58(bytes: Uint8Array): string {
  const digits: number[] = []
  for (const byte of bytes) {
    let carry = byte
    for (let i = 0; i < digits.length; i++) {
      carry += (digits[i] as number) << 8
      digits[i] = carry % 58
      carry = (carry / 58) | 0
    }
    for (; carry > 0; carry = (carry / 58) | 0) digits.push(carry % 58)
  }
  let text = ''
  for (const byte of bytes) {
    if (byte !== 0) break
    text += '1'
  }
  for (let i = digits.length - 1; i >= 0; i--) text += BASE58_ALPHABET[digits[i] as number]
  return text
}
