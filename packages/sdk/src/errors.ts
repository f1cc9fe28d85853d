import { ERROR_STATUS } from '@countersign/protocol'

/** What a service refuses with (section 7 of its contract), by HTTP status in words. */
export type ServiceErrorCode =
  | 'VALIDATION_ERROR'
  | 'INVALID_SIGNATURE'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'IDENTITY_REQUIRED'
  | 'RECENT_SIGN_IN_REQUIRED'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'KEY_ALREADY_CLAIMED'
  | 'TOKEN_EXPIRED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'UNAVAILABLE'

/** What goes wrong on this side of the wire, or on it. */
export type LocalErrorCode =
  /** No answer came: no connection, or one that broke off. */
  | 'NETWORK'
  /** No answer came in time. */
  | 'TIMEOUT'
  /** The caller's own signal has ended the call; `cause` is its reason. */
  | 'ABORTED'
  /** Something answered, and not as a service answers: a redirect, no JSON, other fields, another agent. */
  | 'PROTOCOL'
  /** A claim left, and whether it went through is unknown: `Agent.whoami` tells. */
  | 'OUTCOME_UNKNOWN'
  /** An argument or option that can never work. */
  | 'INVALID_ARGUMENT'
  /** There is no key where one was to be loaded from. */
  | 'NO_KEY'
  /** What was to be a private key is none, or the signer does not sign by its key. */
  | 'UNUSABLE_KEY'
  /** A new key would have displaced one that is there. */
  | 'KEY_EXISTS'
  /** The agent has no DID yet, or this object does not know it. */
  | 'NO_DID'
  /** A text that was to be signed has the form of a claim. */
  | 'LOOKS_LIKE_A_CLAIM'
  /** A text that was to be signed is no challenge of the form that names who asks. */
  | 'NOT_A_CHALLENGE'
  /** A challenge names somebody else than whom the agent talks to. */
  | 'WRONG_AUDIENCE'
  /** An answer to a challenge that was never asked here, is too old, or has been answered. */
  | 'CHALLENGE_SPENT'
  /** The agent proved its key, and is not one that is admitted. */
  | 'NOT_ADMITTED'

/** Every code that an error of this package can carry: a closed set. */
export type CountersignErrorCode = ServiceErrorCode | LocalErrorCode

/** What comes with an error, where it is known. */
export interface CountersignErrorDetails {
  readonly status?: number
  readonly requestId?: string
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/** The one error that this package throws. Switch on `code`; the message is for people. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  readonly code: CountersignErrorCode
  /** HTTP status of the answer, null where none came. */
  readonly status: number | null
  /** `req_…`, by which the host finds the request in the log; null where the service did not answer. */
  readonly requestId: string | null
  /** How long the service asks to wait (Retry-After), in milliseconds, or null. */
  readonly retryAfterMs: number | null

  constructor(code: CountersignErrorCode, message: string, details: CountersignErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.status = details.status ?? null
    this.requestId = details.requestId ?? null
    this.retryAfterMs = details.retryAfterMs ?? null
  }
}

/** Whether a text is a code that a service refuses with, or a site that has `agentSignIn`. */
export function isRemoteErrorCode(
  text: string,
): text is ServiceErrorCode | 'CHALLENGE_SPENT' | 'NOT_ADMITTED' {
  return Object.hasOwn(ERROR_STATUS, text) || text === 'CHALLENGE_SPENT' || text === 'NOT_ADMITTED'
}
