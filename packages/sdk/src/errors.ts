import { ERROR_STATUS } from '@countersign/protocol'

/** The error codes of a service (section 7 of its contract). */
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
  | 'AGENT_NOT_ACTIVE'
  | 'CONFLICT'
  | 'TOKEN_EXPIRED'
  | 'CURSOR_EXPIRED'
  | 'PRECONDITION_FAILED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'NOT_IMPLEMENTED'
  | 'UNAVAILABLE'

/** Error codes of this package, for everything that the service did not report itself. */
export type LocalErrorCode =
  /** No response: there was no connection, or it broke off. `neverSent` tells which. */
  | 'NETWORK'
  /** No response in time. */
  | 'TIMEOUT'
  /** The caller's own signal aborted the call; `cause` is its reason. */
  | 'ABORTED'
  /** The response is not that of a service: a redirect, no JSON, missing fields, another agent. */
  | 'PROTOCOL'
  /** A claim was sent, and its outcome is unknown. `Agent.whoami` finds out. */
  | 'OUTCOME_UNKNOWN'
  /** An argument or option is invalid. */
  | 'INVALID_ARGUMENT'
  /** The platform of a workload gives no token to enrol with. */
  | 'NO_PLATFORM_TOKEN'
  /** There is no key to load. */
  | 'NO_KEY'
  /** The text is not a usable private key, or the signer's signature does not match its public key. */
  | 'UNUSABLE_KEY'
  /** A new key would have replaced an existing one. */
  | 'KEY_EXISTS'
  /** The agent has no DID yet, or this object does not know it. */
  | 'NO_DID'
  /** The text to sign has the form of a claim. */
  | 'LOOKS_LIKE_A_CLAIM'
  /** The text to sign is not a challenge that names its audience. */
  | 'NOT_A_CHALLENGE'
  /**
   * The challenge names another audience than the site that the agent is talking to, or a request to sign goes to an origin that
   * is none of the agent's audiences.
   */
  | 'WRONG_AUDIENCE'
  /** The owner does not allow the agent to delegate, or the chain may not have a further hop. */
  | 'DELEGATION_NOT_ALLOWED'
  /** The request is outside the limits of the delegation, or the delegation has expired. */
  | 'OUTSIDE_DELEGATION'
  /** The owner has denied the request, or the approval was cancelled. */
  | 'APPROVAL_DENIED'
  /** The owner has not decided in time, or the approval was not used in time. */
  | 'APPROVAL_EXPIRED'
  /** The owner does not allow the agent to ask for approvals. */
  | 'APPROVALS_OFF'
  /** The site cannot tell whether the approval was used before. Ask for another one. */
  | 'APPROVAL_UNCHECKED'
  /** The site redirects a signed request to another origin, or too often. */
  | 'REDIRECT'
  /** The challenge was not issued here, has expired, or was answered before. */
  | 'CHALLENGE_SPENT'
  /** The agent proved its key, but is not admitted. */
  | 'NOT_ADMITTED'
  /** It is no token of an issuer that you trust, or its signature, type, claims or times are wrong. */
  | 'INVALID_TOKEN'
  /** The proof of the transparency log is malformed, for another key, or not accepted by your policy. */
  | 'INVALID_PROOF'
  /** The certificate was replaced, or its agent revoked. */
  | 'CERTIFICATE_REVOKED'
  /** The agent of the certificate is suspended. */
  | 'CERTIFICATE_SUSPENDED'
  /** The keys or the status list of an issuer cannot be read. */
  | 'ISSUER_UNAVAILABLE'

/** Every code that a CountersignError can have: a closed set. */
export type CountersignErrorCode = ServiceErrorCode | LocalErrorCode

/** Details of an error, as far as they are known. */
export interface CountersignErrorDetails {
  readonly status?: number
  readonly requestId?: string
  readonly retryAfterMs?: number
  readonly neverSent?: boolean
  readonly location?: string
  readonly cause?: unknown
}

/** The error that this package throws. Switch on `code`; the message is for people. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  readonly code: CountersignErrorCode
  /** HTTP status of the response; null if there was none. */
  readonly status: number | null
  /** `req_…`, the id of the request in the log of the service; null if the service did not respond. */
  readonly requestId: string | null
  /** How long the service asks to wait (Retry-After), in milliseconds; null if it does not say. */
  readonly retryAfterMs: number | null
  /** True if the request certainly did not leave: no connection was established. */
  readonly neverSent: boolean
  /** The address of what was asked for and exists already, as the service sent it; null if it did not. */
  readonly location: string | null

  constructor(code: CountersignErrorCode, message: string, details: CountersignErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.status = details.status ?? null
    this.requestId = details.requestId ?? null
    this.retryAfterMs = details.retryAfterMs ?? null
    this.neverSent = details.neverSent ?? false
    this.location = details.location ?? null
  }
}

/** Whether a service, or a site with `agentSignIn`, can report this code. */
export function isRemoteErrorCode(
  text: string,
): text is ServiceErrorCode | 'CHALLENGE_SPENT' | 'NOT_ADMITTED' {
  return Object.hasOwn(ERROR_STATUS, text) || text === 'CHALLENGE_SPENT' || text === 'NOT_ADMITTED'
}
