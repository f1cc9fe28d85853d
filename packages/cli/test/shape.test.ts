import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  agentObjectSchema,
  cardSchema,
  claimResponseSchema,
  didDocumentSchema,
  lookupSchema,
  namingFor,
  verifyResponseSchema,
} from '@countersign/protocol'
import { departure, type Schema } from '../src/shape.ts'

const VERIFY = verifyResponseSchema(namingFor('acme')) as Schema
const ANSWER = {
  verified: true,
  signatureValid: true,
  certified: true,
  identityLevel: 'unverified',
  agent: { acmeDid: `acme:agent:${'7'.repeat(24)}`, displayName: 'X', status: 'active' },
}

test('an answer in the shape of the protocol departs nowhere, and may say more', () => {
  assert.equal(departure(VERIFY, ANSWER), null)
  assert.equal(departure(VERIFY, { ...ANSWER, planned: [] }), null)
})

test('the first departure is named by its path', () => {
  const { agent } = ANSWER
  const cases: [unknown, string][] = [
    [null, 'body'],
    [[], 'body'],
    [{ ...ANSWER, verified: 1 }, 'body.verified'],
    [{ ...ANSWER, agent: { ...agent, status: 'Active' } }, 'body.agent.status'],
    [{ ...ANSWER, agent: { ...agent, acmeDid: 'acme:agent:1' } }, 'body.agent.acmeDid'],
    [{ ...ANSWER, agent: { displayName: 'X', status: 'active' } }, 'body.agent.acmeDid'],
  ]
  for (const [answer, path] of cases) assert.equal(departure(VERIFY, answer), path)
})

test('an inherited property is no member', () => {
  const schema = { type: 'object', required: ['toString'] }
  assert.equal(departure(schema, {}), 'body.toString')
})

test('numbers have bounds, and null is a value of its own', () => {
  const { tier } = cardSchema(namingFor()).properties as Record<string, Schema>
  for (const good of [1, 2, null]) assert.equal(departure(tier as Schema, good), null)
  for (const bad of [0, 3, 1.5, '1']) assert.equal(departure(tier as Schema, bad), 'body')
})

test('every keyword that the wire schemas use is one that is checked', () => {
  const known =
    'type enum const pattern format maxLength minimum maximum items properties required description'
  const naming = namingFor()
  const schemas = [
    lookupSchema(naming),
    cardSchema(naming),
    agentObjectSchema(naming),
    verifyResponseSchema(naming),
    claimResponseSchema(naming),
    didDocumentSchema(),
  ]
  for (const keyword of schemas.flatMap(keywordsOf)) {
    assert.ok(known.split(' ').includes(keyword), keyword)
  }
})

function keywordsOf(schema: object): string[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === 'items') return [keyword, ...keywordsOf(value)]
    if (keyword !== 'properties') return [keyword]
    return [keyword, ...Object.values(value as object).flatMap((each) => keywordsOf(each))]
  })
}
