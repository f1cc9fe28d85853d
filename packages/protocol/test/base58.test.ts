import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BASE58_ALPHABET, BASE58_CLASS, encodeBase58, randomBase58 } from '../src/index.ts'
import { bytesOf, hexOf, readVectors } from './support/vectors.ts'

const vectors = readVectors<{
  alphabet: string
  encode: { source: string; hex: string; base58: string }[]
}>('base58.json')

test('the alphabet is that of Bitcoin: 58 letters, without 0, O, I and l', () => {
  assert.equal(BASE58_ALPHABET, vectors.alphabet)
  assert.equal(new Set(BASE58_ALPHABET).size, 58)
})

test('the class of a regular expression takes these letters and no other code unit', () => {
  const one = new RegExp(`^${BASE58_CLASS}$`)
  for (let unit = 0; unit < 0x10000; unit++) {
    const letter = String.fromCharCode(unit)
    assert.equal(one.test(letter), BASE58_ALPHABET.includes(letter))
  }
})

test('bytes are encoded as Bitcoin does', () => {
  assert.ok(vectors.encode.length > 0)
  for (const { hex, base58 } of vectors.encode) assert.equal(encodeBase58(bytesOf(hex)), base58)
})

/** The textbook inverse, in big integers. */
function decodeBase58(text: string): Uint8Array {
  const zeros = /^1*/.exec(text)?.[0].length ?? 0
  let value = 0n
  for (const letter of text) value = value * 58n + BigInt(BASE58_ALPHABET.indexOf(letter))
  const hex = value === 0n ? '' : value.toString(16)
  return bytesOf('00'.repeat(zeros) + (hex.length % 2 === 0 ? hex : `0${hex}`))
}

test('what is encoded can be decoded to the same bytes', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 70 }),
    fc.uint8Array({ maxLength: 12, max: 1 }),
    fc.uint8Array({ maxLength: 40 }).map((some) => Uint8Array.from([0, 0, ...some])),
  )
  fc.assert(
    fc.property(bytes, (some) => {
      assert.equal(hexOf(decodeBase58(encodeBase58(some))), hexOf(some))
    }),
    { numRuns: 500 },
  )
})

/** Hands out the given bytes over and over, in order. */
function cycleOf(bytes: readonly number[]) {
  let at = 0
  return (count: number) =>
    Uint8Array.from({ length: count }, () => bytes[at++ % bytes.length] ?? 0)
}

test('over all values of a byte each letter is drawn equally often', () => {
  const descending = Array.from({ length: 256 }, (_, i) => 255 - i)
  const text = randomBase58(232, cycleOf(descending))
  const drawn = new Map<string, number>()
  for (const letter of text) drawn.set(letter, (drawn.get(letter) ?? 0) + 1)
  assert.deepEqual(
    [...drawn.values()],
    Array.from({ length: 58 }, () => 4),
  )
})

test('bytes from 232 on are thrown away, never folded, and more are asked for', () => {
  const tooHigh = Array.from({ length: 24 }, (_, i) => 232 + i)
  let asked = 0
  const source = (count: number) => {
    asked++
    return asked < 4 ? cycleOf(tooHigh)(count) : new Uint8Array(count).fill(57)
  }
  assert.equal(randomBase58(5, source), 'zzzzz')
  assert.equal(asked, 4)
})

test('a random text has exactly the length asked for', () => {
  const source = fc.infiniteStream(fc.integer({ min: 0, max: 255 }))
  fc.assert(
    fc.property(fc.nat(64), source, (length, stream) => {
      const draw = (count: number) => Uint8Array.from([...stream.take(count)])
      assert.match(randomBase58(length, draw), new RegExp(`^${BASE58_CLASS}{${length}}$`))
    }),
    { numRuns: 50 },
  )
})
