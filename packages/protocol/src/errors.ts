/**
 * Every error code of the service with its HTTP status (contract section 7; docs/contract/errors.md lists the further
 * ones).
 */
export const ERROR_STATUS = {
  VALIDATION_ERROR: 400,
  INVALID_SIGNATURE: 401,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  IDENTITY_REQUIRED: 403,
  RECENT_SIGN_IN_REQUIRED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  KEY_ALREADY_CLAIMED: 409,
  AGENT_NOT_ACTIVE: 409,
  CONFLICT: 409,
  TOKEN_EXPIRED: 410,
  CURSOR_EXPIRED: 410,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  NOT_IMPLEMENTED: 501,
  UNAVAILABLE: 503,
} as const

export type ErrorCode = keyof typeof ERROR_STATUS

/** An error with a code of the contract. Callers switch on the code; the message is for people. */
export class CodedError extends Error {
  override readonly name = 'CodedError'
  readonly code: ErrorCode
  /** After how many seconds the client should retry; null if that is unknown. */
  readonly retryAfterSeconds: number | null
  /** The path of what the client asked for and has already; null if there is none. */
  readonly location: string | null

  constructor(
    code: ErrorCode,
    message: string,
    options: ErrorOptions & {
      readonly retryAfterSeconds?: number
      readonly location?: string
    } = {},
  ) {
    super(message, options)
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
    this.location = options.location ?? null
  }
}
