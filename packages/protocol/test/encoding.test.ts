import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  decodeBase64,
  decodeBase64Url,
  decodeKey,
  decodeSignature,
  encodeBase64,
  encodeBase64Url,
} from '../src/index.ts'
import { bytesOf, type Case, forEachCase, hexOf, readVectors } from './support/vectors.ts'

interface CodecCases {
  readonly valid: (Case & { text: string; hex: string })[]
  readonly invalid: (Case & { text: string })[]
}
const vectors = readVectors<{
  encode: { hex: string; base64: string; base64url: string }[]
  key: CodecCases
  signature: CodecCases
}>('base64.json')

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const codecs = [
  { noun: 'key', decode: decodeKey, cases: vectors.key, size: 32, letters: 43 },
  { noun: 'signature', decode: decodeSignature, cases: vectors.signature, size: 64, letters: 86 },
]

for (const { noun, decode, cases, size, letters } of codecs) {
  const someBytes = fc.uint8Array({ minLength: size, maxLength: size })

  test(`a ${noun} is read from its one spelling`, () => {
    forEachCase(cases.valid, (each) => {
      const bytes = decode(each.text)
      assert.ok(bytes)
      assert.equal(hexOf(bytes), each.hex)
      assert.equal(encodeBase64(bytes), each.text)
    })
  })

  test(`a ${noun} is read from no other spelling`, () => {
    forEachCase(cases.invalid, (each) => assert.equal(decode(each.text), null))
  })

  test(`a ${noun} survives encoding and decoding`, () => {
    fc.assert(
      fc.property(someBytes, (bytes) => {
        assert.deepEqual(decode(encodeBase64(bytes)), new Uint8Array(bytes))
      }),
      { numRuns: 500 },
    )
  })

  test(`every other text from which Buffer.from would read the same ${noun} is refused`, () => {
    fc.assert(
      fc.property(someBytes, fc.nat(letters - 1), (bytes, at) => {
        const taken = respellings(encodeBase64(bytes), at).filter((text) =>
          Buffer.from(text, 'base64').equals(bytes),
        )
        assert.ok(taken.length >= 12, `Buffer.from takes ${taken.length} of them`)
        for (const text of taken) assert.equal(decode(text), null, JSON.stringify(text))
      }),
    )
  })

  test(`a text is read as a ${noun} where Buffer would write it so, and nowhere else`, () => {
    const text = fc
      .tuple(
        fc.string({
          unit: fc.constantFrom(...ALPHABET),
          minLength: letters - 1,
          maxLength: letters + 1,
        }),
        fc.constantFrom('', '=', '=='),
      )
      .map(([body, padding]) => body + padding)
    fc.assert(
      fc.property(text, (some) => {
        const bytes = Buffer.from(some, 'base64')
        const isCanonical = bytes.length === size && bytes.toString('base64') === some
        const decoded = decode(some)
        assert.equal(decoded === null ? null : hexOf(decoded), isCanonical ? hexOf(bytes) : null)
      }),
      { numRuns: 2000 },
    )
  })
}

/** Other texts for the same bytes, as lenient decoders take them. */
function respellings(text: string, at: number): string[] {
  const unpadded = text.replaceAll('=', '')
  const padding = text.slice(unpadded.length)
  const last = ALPHABET.indexOf(unpadded.slice(-1))
  const sameBits = [1, 2, 3].map((bits) => unpadded.slice(0, -1) + ALPHABET[last + bits] + padding)
  const inserted = [' ', '\n', '\r\n', '\t', '\0', '.', '!', '\u00e9'].map(
    (junk) => text.slice(0, at) + junk + text.slice(at),
  )
  const urlSafe = text.replaceAll('+', '-').replaceAll('/', '_')
  const ended = [`${text}=`, `${text}\n`, `${text} `, `${text}AAAA`, unpadded, `${unpadded}.`]
  return [...sameBits, ...inserted, ...ended, urlSafe].filter((other) => other !== text)
}

test('bytes are encoded as RFC 4648 says, padded, and url-safe without padding', () => {
  assert.ok(vectors.encode.length > 0)
  for (const { hex, base64, base64url } of vectors.encode) {
    assert.equal(encodeBase64(bytesOf(hex)), base64)
    assert.equal(encodeBase64Url(bytesOf(hex)), base64url)
  }
})

test('bytes of any length are encoded as Buffer encodes them', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      assert.equal(encodeBase64(bytes), Buffer.from(bytes).toString('base64'))
      assert.equal(encodeBase64Url(bytes), Buffer.from(bytes).toString('base64url'))
    }),
    { numRuns: 500 },
  )
})

test('text is decoded where Buffer would write the bytes so, and nowhere else', () => {
  const decoders = { base64: decodeBase64, base64url: decodeBase64Url }
  const letters = fc.constantFrom(...ALPHABET, ...'-_==\n\u00e9')
  const text = fc.oneof(
    fc.string({ unit: letters, maxLength: 9 }),
    fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  )
  fc.assert(
    fc.property(text, fc.constantFrom('base64', 'base64url'), (text, encoding) => {
      const bytes = Buffer.from(text, encoding)
      const expected = bytes.toString(encoding) === text ? new Uint8Array(bytes) : null
      assert.deepEqual(decoders[encoding](text), expected, text)
    }),
    { numRuns: 5000 },
  )
})
