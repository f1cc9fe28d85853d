import { CodedError, type ErrorCode } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** Error codes of this command. Errors of the service keep their own codes. */
export type FailureCode =
  | 'USAGE'
  | 'NO_KEY'
  | 'UNUSABLE_KEY'
  | 'KEY_EXISTS'
  | 'LOOKS_LIKE_A_CLAIM'
  /** The text to sign is not a challenge that names its audience. */
  | 'NOT_A_CHALLENGE'
  /** The challenge is for another audience than the agent talks to, or is allowed to talk to. */
  | 'WRONG_AUDIENCE'
  /** A site refused the sign-in of the agent. */
  | 'NOT_ADMITTED'
  /** The owner, or the delegation before, allows no further one. */
  | 'DELEGATION_NOT_ALLOWED'
  | 'ANOTHER_AGENT'
  | 'ANOTHER_SERVICE'
  | 'REVOKED'
  /** The request was never sent. */
  | 'UNREACHABLE'
  /** The request was sent, and the service did not respond. */
  | 'NO_ANSWER'
  /** The response is not that of a service, or does not follow the contract. */
  | 'UNEXPECTED_ANSWER'
  /** A claim was sent, and its outcome is unknown. */
  | 'OUTCOME_UNKNOWN'
  /** The checkpoint of a transparency log is not signed by its key. */
  | 'LOG_NOT_SIGNED'
  /** Another log than before. */
  | 'LOG_REPLACED'
  /** Fewer entries than were signed before. */
  | 'LOG_ROLLED_BACK'
  /** Two histories were signed. */
  | 'LOG_FORKED'
  /** Entries or tiles that are not under the signed checkpoint. */
  | 'LOG_REWRITTEN'
  /** Logged entries that break a rule, such as a rotation without valid signatures. */
  | 'LOG_ENTRY_INVALID'
  /** Cosignatures that the policy requires are missing. */
  | 'LOG_NOT_WITNESSED'
  /** Another run uses the state file. */
  | 'STATE_LOCKED'
  | 'STATE_DAMAGED'

/** A command failed. Scripts switch on the code; the message is for people. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: FailureCode | ErrorCode

  constructor(code: FailureCode | ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The response of something that does not behave like a service. @param what completes "The service …" */
export function unexpectedAnswer(service: URL, what: string): Failure {
  return new Failure(
    'UNEXPECTED_ANSWER',
    `${service.origin} ${what}. Is it a Countersign service? Check --url.`,
  )
}

/** An error as it is reported. */
export interface ReportedError {
  /** `FAILURE` for errors that have none of our codes. */
  readonly code: string
  readonly message: string
  /** The service's id of the request, if it responded. */
  readonly requestId: string | undefined
}

/** Describes whatever a command throws. */
export function describeError(error: unknown): ReportedError {
  if (error instanceof CountersignError) return describeSdkError(error)
  const isCoded = error instanceof Failure || error instanceof CodedError
  return {
    code: isCoded ? error.code : 'FAILURE',
    message: error instanceof Error ? error.message : String(error),
    requestId: requestIdOf(error),
  }
}

/** The code of `describeError`. */
export function codeOf(error: unknown): string {
  return describeError(error).code
}

function describeSdkError(error: CountersignError): ReportedError {
  const { code, message, requestId: id, neverSent, cause } = error
  const requestId = id ?? undefined
  switch (code) {
    case 'NETWORK':
      return { code: neverSent ? 'UNREACHABLE' : 'NO_ANSWER', message, requestId }
    case 'TIMEOUT':
      return { code: 'NO_ANSWER', message, requestId }
    case 'RATE_LIMITED':
    case 'UNAVAILABLE':
      // Without a request id, a proxy responded in place of the service.
      return { code: requestId === undefined ? 'NO_ANSWER' : code, message, requestId }
    case 'INVALID_ARGUMENT':
      return { code: 'USAGE', message, requestId }
    case 'OUTCOME_UNKNOWN': {
      const reason = describeError(cause).message
      return {
        code,
        message: `${reason} The outcome of the claim is unknown. Run countersign whoami to check it. It is safe to claim again.`,
        requestId,
      }
    }
    case 'PROTOCOL':
      // The error of a newer service, whose code the SDK does not know.
      if (isCodeAndMessage(cause)) return { ...cause, requestId }
      return { code: 'UNEXPECTED_ANSWER', message: `${message} Check --url.`, requestId }
    default:
      return { code, message, requestId }
  }
}

function isCodeAndMessage(value: unknown): value is { code: string; message: string } {
  const { code, message } = (value ?? {}) as Record<string, unknown>
  return typeof code === 'string' && typeof message === 'string' && !(value instanceof Error)
}

function requestIdOf(error: unknown): string | undefined {
  if (error instanceof CountersignError) return error.requestId ?? undefined
  return error instanceof Error && error.cause !== undefined ? requestIdOf(error.cause) : undefined
}
