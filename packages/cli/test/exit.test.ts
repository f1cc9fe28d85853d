import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CodedError, ERROR_STATUS, type ErrorCode } from '@countersign/protocol'
import { codeOf, EXIT, exitCodeOf } from '../src/exit.ts'
import { Failure, type FailureCode, ServiceRefusal } from '../src/failure.ts'

const REFUSALS: Record<ErrorCode, number> = {
  VALIDATION_ERROR: 2,
  NOT_FOUND: 3,
  INVALID_SIGNATURE: 4,
  UNAUTHENTICATED: 4,
  FORBIDDEN: 4,
  IDENTITY_REQUIRED: 4,
  RECENT_SIGN_IN_REQUIRED: 4,
  KEY_ALREADY_CLAIMED: 4,
  TOKEN_EXPIRED: 4,
  RATE_LIMITED: 5,
  UNAVAILABLE: 5,
  METHOD_NOT_ALLOWED: 1,
  PAYLOAD_TOO_LARGE: 1,
  UNSUPPORTED_MEDIA_TYPE: 1,
  INTERNAL_ERROR: 1,
}

const FAILURES: Record<FailureCode, number> = {
  USAGE: 2,
  NO_KEY: 2,
  UNUSABLE_KEY: 2,
  KEY_EXISTS: 4,
  LOOKS_LIKE_A_CLAIM: 4,
  NOT_A_CHALLENGE: 4,
  WRONG_AUDIENCE: 4,
  ANOTHER_AGENT: 4,
  ANOTHER_SERVICE: 4,
  REVOKED: 4,
  UNREACHABLE: 5,
  NO_ANSWER: 5,
  OUTCOME_UNKNOWN: 5,
  UNEXPECTED_ANSWER: 1,
}

test('every code that the service knows has its exit code', () => {
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    const refusal = new ServiceRefusal({ code, message: '', requestId: 'req_1' })
    assert.equal(exitCodeOf(refusal), REFUSALS[code], code)
    assert.equal(exitCodeOf(new CodedError(code, '')), REFUSALS[code], code)
  }
})

test('every failure of our own has its exit code', () => {
  for (const [code, exit] of Object.entries(FAILURES)) {
    assert.equal(exitCodeOf(new Failure(code as FailureCode, '')), exit, code)
  }
})

test('what nobody foresaw is a failure, whatever it says of itself', () => {
  const foreign = Object.assign(new Error('x'), { code: 'NOT_FOUND' })
  const newer = new ServiceRefusal({ code: 'toString', message: '', requestId: 'req_1' })
  for (const error of [foreign, 'NOT_FOUND', null, newer]) {
    assert.equal(exitCodeOf(error), EXIT.failure)
  }
  assert.equal(codeOf(foreign), 'FAILURE')
  assert.equal(codeOf(newer), 'toString')
})
