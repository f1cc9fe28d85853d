/** What can go wrong on this side of the wire. The service's refusals keep their own codes. */
export type FailureCode =
  | 'USAGE'
  | 'NO_KEY'
  | 'UNUSABLE_KEY'
  | 'KEY_EXISTS'
  | 'LOOKS_LIKE_A_CLAIM'
  /** What was to be signed is no challenge that names who asks. */
  | 'NOT_A_CHALLENGE'
  /** A challenge names somebody else than whom the agent talks to, or may talk to. */
  | 'WRONG_AUDIENCE'
  | 'ANOTHER_AGENT'
  | 'ANOTHER_SERVICE'
  | 'REVOKED'
  /** The request never left. */
  | 'UNREACHABLE'
  /** The request left, and no answer of the service came back. */
  | 'NO_ANSWER'
  /** Something answered that is not the service, or not as the contract says. */
  | 'UNEXPECTED_ANSWER'
  /** A claim left, and whether it went through cannot be told. */
  | 'OUTCOME_UNKNOWN'

/** A command cannot do what it was asked. Scripts switch on the code; the message is for people. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: FailureCode

  constructor(code: FailureCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** A refusal by the service, in its own words (contract section 7). A newer service may know further codes. */
export class ServiceRefusal extends Error {
  override readonly name = 'ServiceRefusal'
  readonly code: string
  readonly requestId: string

  constructor(error: { code: string; message: string; requestId: string }) {
    super(error.message)
    this.code = error.code
    this.requestId = error.requestId
  }
}
