import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CodedError, ERROR_STATUS } from '../src/index.ts'
import { readVectors } from './support/vectors.ts'

const { errors } = readVectors<{ errors: { code: string; status: number }[] }>('errors.json')

test('the codes and their HTTP statuses are those of the list, no more and no fewer', () => {
  assert.deepEqual(
    ERROR_STATUS,
    Object.fromEntries(errors.map(({ code, status }) => [code, status])),
  )
})

test('a coded error is an error with a code, and keeps its cause', () => {
  const cause = new Error('why')
  const error = new CodedError('NOT_FOUND', 'No such agent.', { cause })
  assert.ok(error instanceof Error)
  assert.equal(error.name, 'CodedError')
  assert.equal(error.code, 'NOT_FOUND')
  assert.equal(error.message, 'No such agent.')
  assert.equal(error.cause, cause)
})
