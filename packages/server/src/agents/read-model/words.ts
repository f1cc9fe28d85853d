import { TAIL_LENGTH, type Tail } from '@countersign/protocol'

export const TAIL_WORDS = TAIL_LENGTH / 4
export const KEY_WORDS = 8

/** Packs the ASCII characters of a tail into words, four a word. */
export function tailToWords(tail: Tail, words: Uint32Array, at = 0): void {
  for (let i = 0; i < TAIL_WORDS; i++) {
    const c = i * 4
    words[at + i] =
      tail.charCodeAt(c) |
      (tail.charCodeAt(c + 1) << 8) |
      (tail.charCodeAt(c + 2) << 16) |
      (tail.charCodeAt(c + 3) << 24)
  }
}

/** The inverse of `tailToWords`. */
export function wordsToTail(words: Uint32Array, at: number): Tail {
  let tail = ''
  for (let i = 0; i < TAIL_WORDS; i++) {
    const word = words[at + i] as number
    tail += String.fromCharCode(word & 255, (word >>> 8) & 255, (word >>> 16) & 255, word >>> 24)
  }
  return tail as Tail
}

/** Packs the 32 bytes of a key into words. */
export function keyToWords(key: Uint8Array, words: Uint32Array, at = 0): void {
  bytesToWords(key, 0, words, at, KEY_WORDS)
}

/** Packs bytes from `from` on into `count` words from `at` on, four a word, the first in the lowest bits. */
export function bytesToWords(
  bytes: Uint8Array,
  from: number,
  words: Uint32Array,
  at: number,
  count: number,
): void {
  for (let i = 0; i < count; i++) {
    const b = from + i * 4
    words[at + i] =
      (bytes[b] as number) |
      ((bytes[b + 1] as number) << 8) |
      ((bytes[b + 2] as number) << 16) |
      ((bytes[b + 3] as number) << 24)
  }
}

/** The inverse of `keyToWords`. */
export function wordsToKey(words: Uint32Array, at: number): Uint8Array {
  const key = new Uint8Array(KEY_WORDS * 4)
  for (let i = 0; i < key.length; i++) {
    key[i] = (words[at + (i >> 2)] as number) >>> ((i & 3) * 8)
  }
  return key
}
