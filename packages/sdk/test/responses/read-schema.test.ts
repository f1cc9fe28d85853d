import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import { Check } from 'typebox/value'
import { DID, lookupBody } from '../../../../test/support/impostor.ts'
import { readerOf, UnexpectedShape } from '../../src/responses/read-schema.ts'
import * as schemas from '../../src/responses/schemas.ts'

type Schema = Readonly<Record<string, unknown>>

const AT = '2026-01-02T03:04:05.678Z'
const URL_TEXT = 'https://id.example/x'
const key = `${'A'.repeat(43)}=`

/** Values for texts with a pattern. */
const TEXTS = [
  DID,
  key,
  'A'.repeat(43),
  'A'.repeat(70),
  `ap_${'A'.repeat(22)}`,
  `rp_${'A'.repeat(22)}`,
  `svc-report-${'a'.repeat(32)}`,
  '@zoe',
  'did:web:id.example:x',
  'a.b.c',
  'x',
]

/** A valid value with all members, as the schema says. */
function sampleOf(schema: Schema): unknown {
  const { type, pattern, format, items, properties, minimum } = schema
  const kind = Array.isArray(type) ? type.find((each) => each !== 'null') : type
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum.find((each) => each !== null)
  if (kind === 'object') {
    const members = Object.entries((properties ?? {}) as Record<string, Schema>)
    return Object.fromEntries(members.map(([name, each]) => [name, sampleOf(each)]))
  }
  if (kind === 'array') return [sampleOf(items as Schema)]
  if (kind === 'boolean') return true
  if (kind !== 'string') return Math.max(1, Number(minimum ?? 1))
  if (format !== undefined) return format === 'uri' ? URL_TEXT : AT
  const isMatch = (text: string) => new RegExp(String(pattern ?? ''), 'u').test(text)
  return TEXTS.find(isMatch) ?? assert.fail(`no text for ${pattern}`)
}

const OTHERS = [
  ...[undefined, null, true, false, 0, 1, 2, 3, -1, 1.5, '', 'x', 'active', 'A', '@x', [], {}],
  ...[[null], [{}], AT, '2026-13-01T00:00:00Z', DID, `acme:agent:${'A'.repeat(24)}`, `${DID}A`],
  ...[URL_TEXT, '/x', `did:web:x`, key, `${'A'.repeat(42)}B=`, 'x'.repeat(161), '📦'.repeat(161)],
  '📦'.repeat(160),
]

const card = sampleOf(schemas.CARD as unknown as Schema) as { svcDid: string }

/** Every way to drop one member of a body, or to replace it by another value, at any depth. */
function* variants(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of variants(value[0])) yield [item]
    return
  }
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...rest } = value as Record<string, unknown>
    yield rest
    for (const other of OTHERS) yield { ...value, [name]: other }
    for (const variant of variants(member)) yield { ...value, [name]: variant }
  }
}

function isReadable(schema: object, body: unknown): boolean {
  try {
    readerOf(schema, namingFor())(body)
    return true
  } catch (error) {
    if (error instanceof UnexpectedShape) return false
    throw error
  }
}

for (const [name, schema] of Object.entries(schemas)) {
  test(`${name}: the reader accepts exactly what typebox accepts`, () => {
    const body = sampleOf(schema as unknown as Schema)
    const bodies = [body, ...OTHERS, ...[...variants(body)]]
    let accepted = 0
    for (const each of bodies) {
      // JSON has no undefined.
      const sent: unknown = each === undefined ? null : JSON.parse(JSON.stringify(each))
      const expected = Check(schema, sent)
      assert.equal(isReadable(schema, sent), expected, JSON.stringify(sent))
      if (expected) accepted += 1
    }
    assert.ok(isReadable(schema, body))
    assert.ok(accepted >= 1 && accepted < bodies.length / 2)
  })
}

test('the wire schemas use no keyword that the reader ignores', () => {
  const checked = 'type enum const pattern format maxLength minimum maximum items properties'
  const known = new Set([...checked.split(' '), 'required', 'description'])
  const inspect = (schema: Schema): void => {
    for (const keyword of Object.keys(schema)) assert.ok(known.has(keyword), keyword)
    const properties = (schema.properties ?? {}) as Record<string, Schema>
    for (const property of Object.values(properties)) inspect(property)
    if (schema.items) inspect(schema.items as Schema)
    if (schema.format) assert.ok(['date-time', 'uri'].includes(String(schema.format)))
  }
  for (const schema of Object.values(schemas)) inspect(schema as unknown as Schema)
})

test('fields that the schema does not know are left out', () => {
  const { certificate, ...rest } = lookupBody()
  const body = { ...rest, certificate: { ...certificate, more: 1 }, planned: true }
  assert.deepEqual(readerOf(schemas.LOOKUP, namingFor())(body), lookupBody())
})

test('the DID is `did`, whatever the deployment calls the field', () => {
  const did = `acme:agent:${'A'.repeat(24)}`
  const { svcDid, ...rest } = card
  const expected = { did, ...rest }
  for (const naming of [namingFor('acme'), null]) {
    assert.deepEqual(readerOf(schemas.CARD, naming)({ acmeDid: did, ...rest }), expected)
  }
})

test('a reader for any deployment refuses a body without one DID of its field', () => {
  const { svcDid, ...rest } = card
  const read = readerOf(schemas.CARD, null)
  const bodies = [
    rest,
    { ...rest, acmeDid: svcDid },
    { ...rest, svcDid: `${svcDid}A` },
    { ...rest, Did: svcDid },
    { ...rest, svcDid, acmeDid: svcDid },
  ]
  for (const body of bodies) assert.throws(() => read(body), UnexpectedShape, JSON.stringify(body))
})

test('an inherited property is not a field', () => {
  const schema = { type: 'object', properties: { toString: {} } }
  assert.throws(() => readerOf(schema, namingFor())({}), /body\.toString/)
})

test('the error names the path of the first value that does not match', () => {
  const read = readerOf(schemas.VERIFICATION, namingFor())
  const body = sampleOf(schemas.VERIFICATION as unknown as Schema) as { agent: object }
  const cases: [unknown, string][] = [
    [null, 'body'],
    [[], 'body'],
    [{ ...body, verified: 1 }, 'body.verified'],
    [{ ...body, agent: { ...body.agent, status: 'Active' } }, 'body.agent.status'],
    [{ ...body, agent: { ...body.agent, svcDid: 'svc:agent:1' } }, 'body.agent.svcDid'],
    [{ ...body, agent: { displayName: 'X', status: 'active' } }, 'body.agent.svcDid'],
  ]
  for (const [sent, path] of cases) {
    assert.throws(() => read(sent), { message: new RegExp(`\\(see ${path}\\)$`) }, path)
  }
})
