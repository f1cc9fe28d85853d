/**
 * Every code that a response of the service can carry, with its HTTP status
 * (contract section 7; the further ones are listed in docs/contract-notes.md).
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
  TOKEN_EXPIRED: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const

export type ErrorCode = keyof typeof ERROR_STATUS

/** A refusal that has a code. Callers switch on the code; the message is for people. */
export class CodedError extends Error {
  override readonly name = 'CodedError'
  readonly code: ErrorCode
  /** In how many seconds it is worth trying again; null where nobody knows. */
  readonly retryAfterSeconds: number | null

  constructor(
    code: ErrorCode,
    message: string,
    options: ErrorOptions & { readonly retryAfterSeconds?: number } = {},
  ) {
    super(message, options)
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }
}
