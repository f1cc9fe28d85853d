import { type CallbackFailure, CodedError, ERROR_STATUS } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { UnknownOutcome } from '../core/database/database.ts'
import { toCodedError } from '../core/errors.ts'
import { ProviderRefusal } from '../providers/provider.ts'
import type { Providers } from '../providers/providers.ts'

/** A refusal of a provider's callback, with the code that the dashboard shows a text for. */
export class CallbackRefusal extends CodedError {
  readonly reason: CallbackFailure

  constructor(reason: CallbackFailure, message: string) {
    super('VALIDATION_ERROR', message)
    this.reason = reason
  }
}

/**
 * Logs why a provider's callback failed, and describes the failure for the dashboard.
 * @param id the provider's id, from the URL of the callback
 * @returns the query of the dashboard page that shows it: codes and ids only
 */
export function callbackFailureQuery(
  error: unknown,
  request: FastifyRequest,
  providers: Providers,
  id: string,
): Record<string, string> {
  const { code, message, cause } = toCodedError(error)
  const outcome = { code: failureOf(error), request: request.id }
  const provider = providers.all.some((each) => each.id === id) ? id : null
  if (provider === null) {
    // Anyone can request this path with any text, which must not fill the log.
    request.log.debug({ requestId: request.id }, message)
    return { failed: 'unknown', ...outcome }
  }
  // A rejected callback can be an attack, so the operator gets the cause. Causes hold no text from outside.
  const level = ERROR_STATUS[code] >= 500 ? 'error' : 'warn'
  request.log[level]({ err: cause, provider, requestId: request.id }, message)
  return { failed: provider, ...outcome }
}

function failureOf(error: unknown): CallbackFailure {
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
