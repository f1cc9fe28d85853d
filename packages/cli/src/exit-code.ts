import { type ErrorCode, EXIT } from '@countersign/protocol'
import type { CountersignErrorCode } from '@countersign/sdk'
import { codeOf, type FailureCode } from '@countersign/sdk/tool-support'

const EXIT_CODES: Partial<Record<CountersignErrorCode | ErrorCode | FailureCode, number>> = {
  USAGE: EXIT.usage,
  VALIDATION_ERROR: EXIT.usage,
  NO_KEY: EXIT.usage,
  NO_PLATFORM_TOKEN: EXIT.usage,
  UNUSABLE_KEY: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  KEY_EXISTS: EXIT.refused,
  LOOKS_LIKE_A_CLAIM: EXIT.refused,
  NOT_A_CHALLENGE: EXIT.refused,
  WRONG_AUDIENCE: EXIT.refused,
  ANOTHER_AGENT: EXIT.refused,
  ANOTHER_SERVICE: EXIT.refused,
  REVOKED: EXIT.refused,
  APPROVAL_DENIED: EXIT.refused,
  APPROVAL_EXPIRED: EXIT.refused,
  APPROVALS_OFF: EXIT.refused,
  DELEGATION_NOT_ALLOWED: EXIT.refused,
  OUTSIDE_DELEGATION: EXIT.refused,
  REDIRECT: EXIT.refused,
  NOT_ADMITTED: EXIT.refused,
  INVALID_TOKEN: EXIT.refused,
  INVALID_PROOF: EXIT.refused,
  CERTIFICATE_REVOKED: EXIT.refused,
  CERTIFICATE_SUSPENDED: EXIT.refused,
  CHALLENGE_SPENT: EXIT.refused,
  INVALID_SIGNATURE: EXIT.refused,
  UNAUTHENTICATED: EXIT.refused,
  FORBIDDEN: EXIT.refused,
  IDENTITY_REQUIRED: EXIT.refused,
  RECENT_SIGN_IN_REQUIRED: EXIT.refused,
  KEY_ALREADY_CLAIMED: EXIT.refused,
  AGENT_NOT_ACTIVE: EXIT.refused,
  CONFLICT: EXIT.refused,
  TOKEN_EXPIRED: EXIT.refused,
  LOG_NOT_SIGNED: EXIT.refused,
  LOG_REPLACED: EXIT.refused,
  LOG_ROLLED_BACK: EXIT.refused,
  LOG_FORKED: EXIT.refused,
  LOG_REWRITTEN: EXIT.refused,
  LOG_ENTRY_INVALID: EXIT.refused,
  LOG_NOT_WITNESSED: EXIT.refused,
  UNREACHABLE: EXIT.unavailable,
  ISSUER_UNAVAILABLE: EXIT.unavailable,
  APPROVAL_UNCHECKED: EXIT.unavailable,
  NO_ANSWER: EXIT.unavailable,
  OUTCOME_UNKNOWN: EXIT.unavailable,
  RATE_LIMITED: EXIT.unavailable,
  UNAVAILABLE: EXIT.unavailable,
}

/** A Map, because the service chooses the code and a plain object also has `toString`. */
const EXIT_CODE_BY_CODE: ReadonlyMap<string, number> = new Map(Object.entries(EXIT_CODES))

/** The exit code for whatever a command throws. */
export function exitCodeOf(error: unknown): number {
  return EXIT_CODE_BY_CODE.get(codeOf(error)) ?? EXIT.failure
}
