import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  challengeMessage,
  foreignTextIn,
  formatChallenge,
  namingFor,
  parseJws,
  unsignableTextIn,
} from '../src/index.ts'
import { type Case, forEachCase, readVectors } from './support/vectors.ts'

interface ForeignCase extends Case {
  readonly text: string
  readonly kind: string | null
  readonly signer: 'refused' | 'signed'
  readonly verify: 'refused' | 'accepted'
}
const { cases } = readVectors<{ cases: ForeignCase[] }>('foreign-texts.json')

test('signers refuse the texts of the vectors, verifiers those without control characters only', () => {
  forEachCase(cases, ({ text, kind, signer, verify }) => {
    assert.equal(unsignableTextIn(text)?.kind ?? null, kind)
    assert.equal(unsignableTextIn(text) === null, signer === 'signed')
    assert.equal(foreignTextIn(text) === null, verify === 'accepted')
    if (verify === 'accepted') challengeMessage(text)
    else assert.throws(() => challengeMessage(text), { code: 'VALIDATION_ERROR' })
  })
})

const ENCODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-16LE': (text) => Buffer.from(text, 'utf16le'),
  'UTF-16BE': (text) => Buffer.from(text, 'utf16le').swap16(),
  'UTF-32LE': (text) => utf32(text),
  'UTF-32BE': (text) => utf32(text).swap32(),
}

function utf32(text: string): Buffer {
  return Buffer.from(Uint32Array.from(text, (each) => each.codePointAt(0) as number).buffer)
}

const PADDINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.padEnd(Math.ceil(text.length / 4) * 4, '='),
  (text) => `\ufeff ${text} `,
  (text) => `${text.slice(0, 5)}\u00e9!${text.slice(5)}=`,
]

const header = fc
  .record({
    alg: fc.constantFrom('EdDSA', 'Ed25519', 'none', 'ß'),
    extra: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
    extraFirst: fc.boolean(),
    mark: fc.constantFrom('', '\ufeff'),
    space: fc.stringMatching(/^[ \t\r\n]{0,4}$/),
    inner: fc.stringMatching(/^[ \t\r\n]{0,4}$/),
  })
  .map(({ alg, extra, extraFirst, mark, space, inner }) => {
    const members = extraFirst ? { ...extra, alg } : { alg, ...extra }
    const text = JSON.stringify(members)
    return `${mark}${space}{${inner}${text.slice(1)}`.toWellFormed()
  })

test('no header of a JWS is signed, in any encoding, with any padding', () => {
  fc.assert(
    fc.property(
      header,
      fc.constantFrom(...Object.values(ENCODINGS)),
      fc.constantFrom(...PADDINGS),
      fc.constantFrom('base64url', 'base64'),
      fc.string(),
      (text, encode, pad, letters: 'base64url' | 'base64', payload) => {
        const challenge = `${pad(encode(text).toString(letters))}.${payload.toWellFormed()}`
        assert.equal(foreignTextIn(challenge)?.kind, 'token', text)
      },
    ),
    { numRuns: 2000 },
  )
})

test('random texts are signed: of 16 bytes in base64url, a dot and a text, fewer than one of 2,000 is refused', () => {
  let state = 1
  const random = () => (state = (state * 48271) % 2147483647)
  let refused = 0
  for (let i = 0; i < 20_000; i += 1) {
    const bytes = Buffer.from(Array.from({ length: 16 }, () => random() >> 8))
    if (unsignableTextIn(`${bytes.toString('base64url')}.text`) !== null) refused += 1
  }
  assert.ok(refused < 10, `${refused}`)
})

test('a bound challenge is signed, whatever its name and audience begin with', () => {
  const names = ['e', 'ex', 'example', 'eyes', 'ewe', 'e30', 'ey', 'eyj', 'eyjhbgcioijfzert', 'e3']
  for (const name of names) {
    for (const host of ['shop.example', 'a.b.c', 'localhost:3000', '10.0.0.1']) {
      const challenge = { audience: `https://${host}`, nonce: 'n'.repeat(22) }
      assert.equal(unsignableTextIn(formatChallenge(namingFor(name), challenge)), null)
    }
  }
})

test('a token is read only if its header begins with {", is UTF-8 and canonical base64url', () => {
  const token = (head: Buffer) => `${head.toString('base64url')}.e30.${'A'.repeat(86)}`
  const good = '{"alg":"EdDSA","kid":"k","typ":"t"}'
  assert.equal(parseJws(token(Buffer.from(good))).header.kid, 'k')
  for (const text of [`\ufeff${good}`, ` ${good}`, `{ ${good.slice(1)}`, `{\n${good.slice(1)}`]) {
    assert.throws(() => parseJws(token(Buffer.from(text))), { name: 'InvalidTokenError' })
  }
  for (const encode of Object.values(ENCODINGS).slice(1)) {
    assert.throws(() => parseJws(token(encode(good))), { name: 'InvalidTokenError' })
  }
  const [head = '', ...rest] = token(Buffer.from(`${good.slice(0, -1)} }`)).split('.')
  for (const other of [`${head}=`, ` ${head}`, `${head.slice(0, 3)}!${head.slice(3)}`]) {
    assert.throws(() => parseJws([other, ...rest].join('.')), { name: 'InvalidTokenError' })
  }
})
