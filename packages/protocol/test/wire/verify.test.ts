import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { namingFor, verifyRequestSchema, verifyResponseSchema } from '../../src/index.ts'
import { DID } from '../support/documents.ts'
import { assertRefusesBodies, assertTakesBodies, readRequests } from '../support/requests.ts'
import { assertRefuses, assertRequires, assertTakes } from '../support/schema.ts'
import { forEachCase, readVectors, type TextCase, textOf } from '../support/vectors.ts'

const naming = namingFor()
const cases = readRequests('verify')

test('an answer to a challenge of the right shape is taken, with or without a DID', () => {
  assertTakesBodies(verifyRequestSchema(naming), cases)
})

test('one of another shape is refused: nothing is coerced, nothing is ignored', () => {
  assertRefusesBodies(verifyRequestSchema(naming), cases)
})

test('no challenge that may be signed is refused by the schema', () => {
  const { valid } = readVectors<{ valid: TextCase[] }>('challenge.json')
  const validator = Compile(verifyRequestSchema(naming))
  forEachCase(valid, (each) => {
    assert.ok(validator.Check({ ...cases.body, challenge: textOf(each) }))
  })
})

const response = verifyResponseSchema(naming)
const answer = {
  verified: true,
  signatureValid: true,
  certified: true,
  identityLevel: 'eid',
  agent: { svcDid: DID, displayName: 'Ada', status: 'active' },
}

test('the response has every field of contract 4.3', () => {
  assertRequires(response, answer)
  assertRequires(response.properties.agent, answer.agent)
})

test('the response keeps to the values of the contract', () => {
  assertTakes(response, answer, [
    { verified: false },
    { identityLevel: 'unverified' },
    { agent: { ...answer.agent, status: 'suspended' } },
    { agent: { ...answer.agent, status: 'revoked' } },
  ])
  assertRefuses(response, answer, [
    { verified: 'true' },
    { identityLevel: null },
    { agent: null },
    { agent: { ...answer.agent, status: 'gone' } },
    { agent: { ...answer.agent, svcDid: DID.slice(10) } },
  ])
})
