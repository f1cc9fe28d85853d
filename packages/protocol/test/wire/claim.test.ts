import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { claimRequestSchema, namingFor } from '../../src/index.ts'
import { assertRefusesBodies, assertTakesBodies, readRequests } from '../support/requests.ts'
import { forEachCase, readVectors, type TextCase, textOf } from '../support/vectors.ts'

const naming = namingFor()
const request = claimRequestSchema(naming)
const cases = readRequests('claim')
const { agentId } = readVectors<{ agentId: { valid: TextCase[]; invalid: TextCase[] } }>(
  'text.json',
)

test('a claim of the right shape is taken', () => {
  assertTakesBodies(request, cases)
})

test('a claim of another shape is refused: nothing is coerced, nothing is ignored', () => {
  assertRefusesBodies(request, cases)
})

test('the schema draws the same line through labels as the pattern, by code points', () => {
  const validator = Compile(request)
  const claims = (label: string) => validator.Check({ ...cases.body, agentId: label })
  forEachCase(agentId.valid, (each) => assert.ok(claims(textOf(each))))
  forEachCase(agentId.invalid, (each) => assert.equal(claims(textOf(each)), false))
})

test('under another short name the claim takes that deployment’s tokens and no others', () => {
  const acme = Compile(claimRequestSchema(namingFor('acme', 'AcmeID')))
  const token = String(cases.body.claimToken)
  assert.equal(acme.Check(cases.body), false)
  assert.ok(acme.Check({ ...cases.body, claimToken: token.replace('svc', 'acme') }))
})
