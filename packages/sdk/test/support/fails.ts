import assert from 'node:assert/strict'
import { CountersignError, type CountersignErrorCode } from '../../src/errors.ts'

/** Asserts that something fails with a code. @returns the error */
export async function failsWith(
  code: CountersignErrorCode,
  promise: Promise<unknown> | (() => unknown),
): Promise<CountersignError> {
  try {
    const result = await (typeof promise === 'function' ? promise() : promise)
    assert.fail(`it succeeds with ${JSON.stringify(result)}`)
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error
    assert.equal(error.code, code, error.message)
    assert.match(error.message, /\w/)
    return error
  }
}
