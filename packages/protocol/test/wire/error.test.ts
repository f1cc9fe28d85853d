import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { errorSchema } from '../../src/index.ts'
import { assertRequires } from '../support/schema.ts'
import { readVectors } from '../support/vectors.ts'

const error = { code: 'NOT_FOUND', message: 'No such agent.', requestId: 'req_1' }

test('an error is {error: {code, message, requestId}} (contract section 7)', () => {
  assertRequires(errorSchema(), { error })
  assertRequires(errorSchema().properties.error, error)
})

test('an error carries any listed code, and no other', () => {
  const { errors } = readVectors<{ errors: { code: string }[] }>('errors.json')
  const validator = Compile(errorSchema())
  const takes = (code: unknown) => validator.Check({ error: { ...error, code } })
  for (const { code } of errors) assert.ok(takes(code), code)
  for (const code of ['', 'not_found', 'FST_ERR_VALIDATION', 404, null]) {
    assert.equal(takes(code), false)
  }
})

test('a request id begins with req_', () => {
  const validator = Compile(errorSchema())
  for (const requestId of ['1', 'xreq_1', 'REQ_1', null]) {
    assert.equal(validator.Check({ error: { ...error, requestId } }), false)
  }
})
