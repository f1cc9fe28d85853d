import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CodedError, ERROR_STATUS, type ErrorCode, EXIT } from '@countersign/protocol'
import { CountersignError } from '@countersign/sdk'
import { codeOf, Failure, type FailureCode } from '@countersign/sdk/tool-support'
import { exitCodeOf } from '../src/exit-code.ts'

const REFUSALS: Record<ErrorCode, number> = {
  VALIDATION_ERROR: 2,
  NOT_FOUND: 3,
  INVALID_SIGNATURE: 4,
  UNAUTHENTICATED: 4,
  FORBIDDEN: 4,
  IDENTITY_REQUIRED: 4,
  RECENT_SIGN_IN_REQUIRED: 4,
  KEY_ALREADY_CLAIMED: 4,
  AGENT_NOT_ACTIVE: 4,
  CONFLICT: 4,
  TOKEN_EXPIRED: 4,
  RATE_LIMITED: 5,
  UNAVAILABLE: 5,
  METHOD_NOT_ALLOWED: 1,
  CURSOR_EXPIRED: 1,
  PRECONDITION_FAILED: 1,
  PAYLOAD_TOO_LARGE: 1,
  UNSUPPORTED_MEDIA_TYPE: 1,
  INTERNAL_ERROR: 1,
  NOT_IMPLEMENTED: 1,
}

const FAILURES: Record<FailureCode, number> = {
  USAGE: 2,
  NO_KEY: 2,
  UNUSABLE_KEY: 2,
  KEY_EXISTS: 4,
  LOOKS_LIKE_A_CLAIM: 4,
  NOT_A_CHALLENGE: 4,
  WRONG_AUDIENCE: 4,
  NOT_ADMITTED: 4,
  DELEGATION_NOT_ALLOWED: 4,
  ANOTHER_AGENT: 4,
  ANOTHER_SERVICE: 4,
  REVOKED: 4,
  LOG_NOT_SIGNED: 4,
  LOG_REPLACED: 4,
  LOG_ROLLED_BACK: 4,
  LOG_FORKED: 4,
  LOG_REWRITTEN: 4,
  LOG_ENTRY_INVALID: 4,
  LOG_NOT_WITNESSED: 4,
  STATE_LOCKED: 1,
  STATE_DAMAGED: 1,
  UNREACHABLE: 5,
  NO_ANSWER: 5,
  OUTCOME_UNKNOWN: 5,
  UNEXPECTED_ANSWER: 1,
}

test('every error code of the service has its exit code', () => {
  for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
    const fromService = new CountersignError(code, '', { requestId: 'req_1' })
    assert.equal(exitCodeOf(fromService), REFUSALS[code], code)
    assert.equal(exitCodeOf(new CodedError(code, '')), REFUSALS[code], code)
  }
})

test('every error code of the command has its exit code', () => {
  for (const [code, exit] of Object.entries(FAILURES)) {
    assert.equal(exitCodeOf(new Failure(code as FailureCode, '')), exit, code)
  }
})

test('errors of the SDK are reported with the codes of the command', () => {
  const cases = [
    [new CountersignError('NETWORK', '', { neverSent: true }), 'UNREACHABLE'],
    [new CountersignError('NETWORK', ''), 'NO_ANSWER'],
    [new CountersignError('TIMEOUT', ''), 'NO_ANSWER'],
    [new CountersignError('UNAVAILABLE', ''), 'NO_ANSWER'],
    [new CountersignError('UNAVAILABLE', '', { requestId: 'req_1' }), 'UNAVAILABLE'],
    [new CountersignError('RATE_LIMITED', ''), 'NO_ANSWER'],
    [new CountersignError('PROTOCOL', ''), 'UNEXPECTED_ANSWER'],
    [new CountersignError('PROTOCOL', '', { cause: new Error('x') }), 'UNEXPECTED_ANSWER'],
    [new CountersignError('INVALID_ARGUMENT', ''), 'USAGE'],
    [new CountersignError('OUTCOME_UNKNOWN', ''), 'OUTCOME_UNKNOWN'],
    [new CountersignError('UNUSABLE_KEY', ''), 'UNUSABLE_KEY'],
  ] as const
  for (const [error, code] of cases) assert.equal(codeOf(error), code)
})

test('an error without one of our codes is a failure, whatever it says of itself', () => {
  const foreign = Object.assign(new Error('x'), { code: 'NOT_FOUND' })
  const cause = { code: 'toString', message: '' }
  const newer = new CountersignError('PROTOCOL', '', { cause, requestId: 'req_1' })
  for (const error of [foreign, 'NOT_FOUND', null, newer]) {
    assert.equal(exitCodeOf(error), EXIT.failure)
  }
  assert.equal(codeOf(foreign), 'FAILURE')
  assert.equal(codeOf(newer), 'toString')
})
