import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  headerFields,
  parseDictionary,
  parseStringItem,
  StructuredFieldError,
  serializeMember,
  serializeString,
} from '../../src/index.ts'

const canonical = (text: string) =>
  [...parseDictionary(text)].map(([key, member]) => [key, serializeMember(member)])

test('dictionaries are read and written in canonical form', () => {
  const cases: [text: string, ...members: [string, string][]][] = [
    [''],
    ['  a  ', ['a', '?1']],
    ['a=1, b;x;y=2,\t c=?0', ['a', '1'], ['b', '?1;x;y=2'], ['c', '?0']],
    ['a=(  "x";key="k"   tok )  ', ['a', '("x";key="k" tok)']],
    ['a=()', ['a', '()']],
    ['a=:AQI=:;  z', ['a', ':AQI=:;z']],
    ['a="q\\"\\\\"', ['a', '"q\\"\\\\"']],
    [
      'a=-1.50, b=2.0, c=@1, *d=tok/en:x',
      ['a', '-1.5'],
      ['b', '2.0'],
      ['c', '@1'],
      ['*d', 'tok/en:x'],
    ],
  ]
  for (const [text, ...members] of cases) assert.deepEqual(canonical(text), members, text)
})

test('what is no dictionary, or repeats something, is refused', () => {
  for (const text of [
    'a=1, a=2',
    'a;x;x',
    'a=(1;x;x=2)',
    'a=1,',
    'a=1,,b',
    'a=1\t',
    ',a',
    'A=1',
    '1=1',
    'a=',
    'a =1',
    'a= 1',
    'a=1 b=2',
    'a=(1',
    'a=("x""y")',
    'a=(1\t2)',
    'a=(a=1)',
    'a=((1))',
    'a="x',
    'a="\\n"',
    'a="\u00e9"',
    'a="\n"',
    "a='x'",
    'a=:AQI:',
    'a=:AQJ=:',
    'a=:A Q=:',
    'a=:AQ-_:',
    'a=:AQI=',
    'a=1.',
    'a=1.2345',
    'a=1234567890123456',
    'a=--1',
    'a=?2',
    'a=@1.5',
    'a=%"x"',
    'a;=1',
    'a;X',
    '"https://agent.example"',
  ]) {
    assert.throws(() => parseDictionary(text), StructuredFieldError, text)
  }
})

test('a string item has neither parameters nor company', () => {
  assert.equal(parseStringItem(' "https://a.example" '), 'https://a.example')
  for (const text of ['', 'a', '"x";a', '"x", "y"', '"x" y', '("x")', '"x']) {
    assert.throws(() => parseStringItem(text), StructuredFieldError, text)
  }
  assert.throws(() => serializeString('\u00e9'), StructuredFieldError)
})

test('whatever is read is written in a form that reads the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab=(),;:?@"\\ 1-.*/A') }), (text) => {
      let members: [string, string][]
      try {
        members = canonical(text) as [string, string][]
      } catch (error) {
        assert.ok(error instanceof StructuredFieldError)
        return
      }
      const written = members.map(([key, value]) => `${key}=${value}`).join(', ')
      assert.deepEqual(canonical(written), members)
    }),
  )
})

test('reading takes linear time, also for long runs of spaces', () => {
  // A quadratic reader takes minutes for this.
  const spaces = ' '.repeat(2_000_000)
  for (const text of [`a=1,${spaces}b=(${spaces}x`, `a${spaces}b`, `"x"${spaces}y`]) {
    assert.throws(() => parseDictionary(text), StructuredFieldError)
    assert.throws(() => parseStringItem(text), StructuredFieldError)
  }
  const fields = headerFields([['accept', `a${spaces}b`]])
  assert.equal(fields.get('accept')?.[0]?.length, spaces.length + 2)
})
