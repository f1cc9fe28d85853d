import { CodedError, type ErrorCode } from '@countersign/protocol'
import { Failure, type FailureCode, ServiceRefusal } from './failure.ts'

/** What scripts can rely on. Listed in `countersign --help`. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  unavailable: 5,
} as const

const CODES: Partial<Record<ErrorCode | FailureCode, number>> = {
  USAGE: EXIT.usage,
  VALIDATION_ERROR: EXIT.usage,
  NO_KEY: EXIT.usage,
  UNUSABLE_KEY: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  KEY_EXISTS: EXIT.refused,
  LOOKS_LIKE_A_CLAIM: EXIT.refused,
  NOT_A_CHALLENGE: EXIT.refused,
  WRONG_AUDIENCE: EXIT.refused,
  ANOTHER_AGENT: EXIT.refused,
  ANOTHER_SERVICE: EXIT.refused,
  REVOKED: EXIT.refused,
  INVALID_SIGNATURE: EXIT.refused,
  UNAUTHENTICATED: EXIT.refused,
  FORBIDDEN: EXIT.refused,
  IDENTITY_REQUIRED: EXIT.refused,
  RECENT_SIGN_IN_REQUIRED: EXIT.refused,
  KEY_ALREADY_CLAIMED: EXIT.refused,
  TOKEN_EXPIRED: EXIT.refused,
  UNREACHABLE: EXIT.unavailable,
  NO_ANSWER: EXIT.unavailable,
  OUTCOME_UNKNOWN: EXIT.unavailable,
  RATE_LIMITED: EXIT.unavailable,
  UNAVAILABLE: EXIT.unavailable,
}

/** A map, because a code comes from the service and an object would also have `toString`. */
const BY_CODE: ReadonlyMap<string, number> = new Map(Object.entries(CODES))

/** The exit code for whatever a command has thrown. */
export function exitCodeOf(error: unknown): number {
  return BY_CODE.get(codeOf(error)) ?? EXIT.failure
}

/** The code that `--json` reports, `FAILURE` for what has none of ours. */
export function codeOf(error: unknown): string {
  const coded = [Failure, ServiceRefusal, CodedError].some((each) => error instanceof each)
  return coded ? (error as { code: string }).code : 'FAILURE'
}
