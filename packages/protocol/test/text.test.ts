import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  AGENT_ID_PATTERN,
  assertHonestDescription,
  CodedError,
  DISPLAY_NAME_PATTERN,
  nameImitationIn,
  USERNAME_PATTERN,
  utf8,
} from '../src/index.ts'
import { forEachCase, readVectors, type TextCase, textOf } from './support/vectors.ts'

type Noun = 'agentId' | 'username' | 'displayName' | 'publicName' | 'description'
const vectors = readVectors<Record<Noun, { valid: TextCase[]; invalid: TextCase[] }>>('text.json')

for (const [noun, pattern] of [
  ['agentId', AGENT_ID_PATTERN],
  ['username', USERNAME_PATTERN],
  ['displayName', DISPLAY_NAME_PATTERN],
] as const) {
  test(`${noun}: what may be written is taken`, () => {
    forEachCase(vectors[noun].valid, (each) => assert.ok(pattern.test(textOf(each))))
  })

  test(`${noun}: what may not be written is refused`, () => {
    forEachCase(vectors[noun].invalid, (each) => assert.equal(pattern.test(textOf(each)), false))
  })
}

test('publicName: names that imitate a verification or mix scripts are refused, others are not', () => {
  const { valid, invalid } = vectors.publicName
  forEachCase(valid, (each) => assert.equal(nameImitationIn(textOf(each)), null))
  forEachCase(invalid, (each) => assert.notEqual(nameImitationIn(textOf(each)), null))
})

test('description: claims and seals are refused; names of others and emoji are not', () => {
  const { valid, invalid } = vectors.description
  forEachCase(valid, (each) => assertHonestDescription('It', textOf(each)))
  forEachCase(invalid, (each) =>
    assert.throws(() => assertHonestDescription('It', textOf(each)), CodedError),
  )
})

test('reserved names are refused in names: long ones anywhere, short ones as whole words', () => {
  const reserved = ['ServiceID', 'Stripe Identity', 'eID', '?']
  for (const name of [
    'ServiceID support',
    'serviceid',
    'MyServiceIDBot',
    'Service ID',
    '\u0455ervice-1D',
    'Agent of stripe identity',
    'The eID agent',
  ]) {
    assert.notEqual(nameImitationIn(name, reserved), null, name)
  }
  for (const name of ['Stripe payouts', 'Identity helper', 'Reid', 'Reidentify', 'Service 1']) {
    assert.equal(nameImitationIn(name, reserved), null, name)
  }
})

/** The C0 and C1 controls and DEL. */
function isControl(point: string): boolean {
  const code = point.codePointAt(0) ?? 0
  return code < 0x20 || (code >= 0x7f && code < 0xa0)
}

test('a label is 1 to 128 well-formed code points without a control character', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 140 }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
      .map((units) => String.fromCharCode(...units)),
  )
  fc.assert(
    fc.property(text, (some) => {
      const points = [...some].length
      const controls = [...some].some(isControl)
      const expected = some.isWellFormed() && points >= 1 && points <= 128 && !controls
      assert.equal(AGENT_ID_PATTERN.test(some), expected)
    }),
    { numRuns: 500 },
  )
})

test('texts that look alike but have other code points stay apart as bytes', () => {
  assert.notDeepEqual(utf8('\u00e9'), utf8('e\u0301'))
  assert.deepEqual([...utf8('\ufeffa')], [0xef, 0xbb, 0xbf, 0x61])
})

test('utf8 gives the bytes that Buffer gives', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 50 }), (text) => {
      assert.deepEqual(Buffer.from(utf8(text)), Buffer.from(text, 'utf8'))
    }),
  )
})
