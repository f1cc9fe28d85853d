import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { namingFor } from '../../src/index.ts'
import { did, publicKey, signature, status, timestamp } from '../../src/wire/formats.ts'
import { type Case, forEachCase, readVectors } from '../support/vectors.ts'

interface CodecCases {
  readonly valid: (Case & { text: string })[]
  readonly invalid: (Case & { text: string })[]
}
const base64 = readVectors<Record<'key' | 'signature', CodecCases>>('base64.json')

for (const [noun, schema, cases] of [
  ['key', publicKey(), base64.key],
  ['signature', signature(), base64.signature],
] as const) {
  test(`the schema of a ${noun} draws the same line as its decoder`, () => {
    const validator = Compile(schema)
    forEachCase(cases.valid, (each) => assert.ok(validator.Check(each.text)))
    forEachCase(cases.invalid, (each) => assert.equal(validator.Check(each.text), false))
  })
}

test('a DID on the wire is always the full one', () => {
  const references = readVectors<{
    valid: (Case & { text: string; kind: string; shortName?: string })[]
    invalid: (Case & { text: string; shortName?: string })[]
  }>('agent-reference.json')
  const isDid = (each: { text: string; shortName?: string }) =>
    Compile(did(namingFor(each.shortName))).Check(each.text)
  forEachCase(references.valid, (each) => assert.equal(isDid(each), each.text.includes(':')))
  forEachCase(references.invalid, (each) => assert.equal(isDid(each), false))
})

test('a timestamp is written as toISOString writes it', () => {
  const validator = Compile(timestamp())
  assert.ok(validator.Check(new Date(0).toISOString()))
  for (const other of ['', 'now', '2026-01-01', '2026-13-01T00:00:00Z', 1767225600000, null]) {
    assert.equal(validator.Check(other), false)
  }
})

test('a status is one of the three of contract 3.1', () => {
  const validator = Compile(status())
  for (const each of ['active', 'suspended', 'revoked']) assert.ok(validator.Check(each))
  for (const other of ['', 'Active', 'deleted', null, 1])
    assert.equal(validator.Check(other), false)
})
