import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { namingFor, verifyRequestSchema } from '../../src/index.ts'
import { assertRefusesBodies, assertTakesBodies, readRequests } from '../support/requests.ts'
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
