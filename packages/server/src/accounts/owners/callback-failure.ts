import { type CallbackFailure, CodedError } from '@countersign/protocol'
import { UnknownOutcome } from '../../database/database.ts'
import { toCodedError } from '../../http/errors.ts'
import { ProviderRefusal } from '../providers/provider.ts'

/** A refusal of a provider's callback, with the code that the dashboard shows a text for. */
export class CallbackRefusal extends CodedError {
  readonly reason: CallbackFailure

  constructor(reason: CallbackFailure, message: string) {
    super('VALIDATION_ERROR', message)
    this.reason = reason
  }
}

/** The code for an error of a callback. */
export function failureOf(error: unknown): CallbackFailure {
  if (error instanceof CallbackRefusal) return error.reason
  if (error instanceof UnknownOutcome) return 'unknown-outcome'
  const { code, cause } = toCodedError(error)
  if (cause instanceof ProviderRefusal) return cause.reason
  return BY_CODE[code] ?? 'internal'
}

const BY_CODE: Partial<Record<CodedError['code'], CallbackFailure>> = {
  NOT_FOUND: 'unknown-provider',
  UNAUTHENTICATED: 'signed-out',
  UNAVAILABLE: 'unavailable',
}
