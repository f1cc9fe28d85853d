import { ERROR_STATUS, type ErrorCode } from '@countersign/protocol'
import { needsSession } from './curl-example.ts'
import type { Operation } from './openapi-types.ts'

/** Beyond what follows from the form of an operation. */
const FURTHER: Readonly<Record<string, readonly ErrorCode[]>> = {
  claim: ['INVALID_SIGNATURE', 'NOT_FOUND', 'KEY_ALREADY_CLAIMED', 'TOKEN_EXPIRED'],
  verify: ['INVALID_SIGNATURE', 'NOT_FOUND'],
  identify: ['NOT_FOUND'],
  challengeRuntime: ['FORBIDDEN'],
  answerRuntime: ['INVALID_SIGNATURE', 'TOKEN_EXPIRED', 'FORBIDDEN'],
  issueToken: ['IDENTITY_REQUIRED'],
  identityWebhook: ['INVALID_SIGNATURE'],
  beginProviderSignIn: ['NOT_FOUND'],
  linkSignInProvider: ['NOT_FOUND'],
}

/**
 * The codes with which an operation can refuse, by status. The document tells of them as `x-errors`, and every answer
 * of every test is held against that. 405 is no answer of an operation.
 * @param isLimited whether it is under a limit of the preview `rate-limit`
 */
export function errorsOf(method: string, operation: Operation, isLimited: boolean): ErrorCode[] {
  const { operationId, summary, parameters = [], tags = [] } = operation
  const owners = tags.includes('owner')
  const changes = method !== 'GET'
  const told: Readonly<Partial<Record<ErrorCode, boolean>>> = {
    VALIDATION_ERROR: true,
    NOT_FOUND: parameters.some((each) => each.in === 'path'),
    UNAUTHENTICATED: owners && (changes || needsSession(operation)),
    FORBIDDEN: owners && changes,
    RECENT_SIGN_IN_REQUIRED: summary.includes('recent sign-in'),
    PAYLOAD_TOO_LARGE: changes,
    UNSUPPORTED_MEDIA_TYPE: changes,
    RATE_LIMITED: isLimited,
    INTERNAL_ERROR: true,
    UNAVAILABLE: true,
  }
  const further = FURTHER[operationId] ?? []
  const codes = Object.keys(ERROR_STATUS) as ErrorCode[]
  return codes.filter((code) => told[code] === true || further.includes(code))
}
