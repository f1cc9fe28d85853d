import assert from 'node:assert/strict'

/** A change to a valid text. */
export interface Tampering {
  readonly name: string
  readonly of: (good: string) => string
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** The order of Ed25519's base point. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n

/**
 * Other texts that a lenient decoder reads as the same bytes.
 * @param padding how many `=` the good text ends in
 */
export function otherSpellings(padding: 1 | 2): Tampering[] {
  const lastLetters = Array.from({ length: 4 ** padding - 1 }, (_, i) => ({
    name: `a last letter that adds the bits ${(i + 1).toString(2)}`,
    of: (good: string) => replaceLastLetter(good, i + 1),
  }))
  const spellings: Tampering[] = [
    { name: 'url-safe letters', of: (good) => good.replaceAll('+', '-').replaceAll('/', '_') },
    { name: 'no padding', of: (good) => good.replaceAll('=', '') },
    { name: 'padding once more', of: (good) => `${good}=` },
    { name: 'a newline at the end', of: (good) => `${good}\n` },
    { name: 'a newline in the middle', of: (good) => insert(good, '\n') },
    { name: 'a carriage return and a newline', of: (good) => insert(good, '\r\n') },
    { name: 'a space at the start', of: (good) => ` ${good}` },
    { name: 'a space in the middle', of: (good) => insert(good, ' ') },
    { name: 'a character outside the alphabet', of: (good) => insert(good, '*') },
    { name: 'a NUL at the end', of: (good) => `${good}\0` },
    { name: 'letters after the padding', of: (good) => `${good}AAAA` },
    ...lastLetters,
  ]
  return spellings.map(({ name, of }) => ({ name, of: (good) => sameBytes(good, of(good)) }))
}

/** Asserts that the text changed and its decoded bytes did not; otherwise the case would test something else. */
function sameBytes(good: string, text: string): string {
  assert.notEqual(text, good)
  assert.deepEqual(Buffer.from(text, 'base64'), Buffer.from(good, 'base64'))
  return text
}

function insert(text: string, what: string): string {
  const middle = text.length >> 1
  return text.slice(0, middle) + what + text.slice(middle)
}

/** Sets unused bits of the last letter, which are zero in the canonical encoding. */
function replaceLastLetter(good: string, bits: number): string {
  const letters = good.replaceAll('=', '')
  const last = ALPHABET.indexOf(letters.at(-1) as string)
  return letters.slice(0, -1) + ALPHABET[last + bits] + good.slice(letters.length)
}

/** Canonical base64 of a different number of bytes. */
export const OTHER_LENGTHS: readonly Tampering[] = [
  { name: 'nothing', of: () => '' },
  { name: 'one byte less', of: bytewise((good) => good.subarray(0, -1)) },
  { name: 'one byte more', of: bytewise((good) => Buffer.concat([good, Buffer.alloc(1)])) },
  { name: 'half of it', of: bytewise((good) => good.subarray(0, good.length / 2)) },
  { name: 'twice over', of: bytewise((good) => Buffer.concat([good, good])) },
  {
    name: 'three kilobytes more',
    of: bytewise((good) => Buffer.concat([good, Buffer.alloc(3072)])),
  },
]

function bytewise(change: (good: Buffer) => Buffer): (good: string) => string {
  return (good) => change(Buffer.from(good, 'base64')).toString('base64')
}

const IDENTITY = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)])

/** Invalid signatures of 64 bytes in canonical base64, derived from a valid one. */
export const FORGERIES: readonly Tampering[] = [
  { name: 'S + L', of: signature((r, s) => [r, s + L]) },
  { name: 'S + 2L', of: signature((r, s) => [r, s + 2n * L]) },
  { name: 'S = L', of: signature((r) => [r, L]) },
  { name: 'S with its top bits set', of: signature((r, s) => [r, s | (7n << 253n)]) },
  { name: 'S negated', of: signature((r, s) => [r, L - s]) },
  { name: 'S = 0', of: signature((r) => [r, 0n]) },
  { name: 'one bit of S flipped', of: signature((r, s) => [r, s ^ 1n]) },
  { name: 'one bit of R flipped', of: signature((r, s) => [withBit(r, 0, 0x01), s]) },
  { name: 'R negated', of: signature((r, s) => [withBit(r, 31, 0x80), s]) },
  { name: 'R the identity', of: signature((_, s) => [IDENTITY, s]) },
  { name: 'R the identity, S = 0', of: signature(() => [IDENTITY, 0n]) },
  { name: 'all zero', of: signature(() => [Buffer.alloc(32), 0n]) },
  { name: 'all ones', of: signature(() => [Buffer.alloc(32, 0xff), 2n ** 256n - 1n]) },
]

function signature(change: (r: Buffer, s: bigint) => [Buffer, bigint]): (good: string) => string {
  return bytewise((good) => {
    const [r, s] = change(good.subarray(0, 32), littleEndian(good.subarray(32)))
    return Buffer.concat([r, toLittleEndian(s)])
  })
}

function withBit(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ bit
  return copy
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function toLittleEndian(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse()
}
