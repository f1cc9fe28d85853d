import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'
import { ProviderFailure, ProviderRefusal } from './provider.ts'

/** Error codes of the authorization endpoint that mean that the user, or the provider on their behalf, declined. */
const USER_REFUSALS = [
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
]

/** openid-client's codes for a provider that does not respond, or violates the protocol. */
const PROVIDER_FAULTS = [
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]

/**
 * Converts an error of openid-client to a failure of the provider.
 * @param doing names the step in the message
 * @returns a failure without a cause, because causes hold responses, which hold tokens
 */
export function toProviderFailure(label: string, doing: string, error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  return new ProviderFailure(`${label}, ${doing}: ${describeError(error)}`)
}

/** Converts an error during the callback: a refusal if the user or the callback is at fault, otherwise a failure. */
export function toCompletionError(label: string, error: unknown): Error {
  if (error instanceof ProviderRefusal || error instanceof ProviderFailure) return error
  const reason = new Error(describeError(error))
  if (error instanceof AuthorizationResponseError) {
    if (USER_REFUSALS.includes(error.error))
      return new ProviderRefusal(`${label} has not verified you: it was stopped there.`, {
        reason: 'declined',
      })
    return toProviderFailure(label, 'coming back', error)
  }
  if (error instanceof ResponseBodyError && error.error === 'invalid_grant') {
    return new ProviderRefusal(`${label} says that this is no longer good. Begin again.`, {
      reason: 'used',
      cause: reason,
    })
  }
  if (isProviderFault(error)) return toProviderFailure(label, 'fetching the result', error)
  return new ProviderRefusal(
    `What came back from ${label} cannot be believed, so nothing was recorded. Begin again.`,
    { reason: 'invalid-response', cause: reason },
  )
}

function isProviderFault(error: unknown): boolean {
  if (error instanceof ClientError) {
    return PROVIDER_FAULTS.includes(error.code ?? '') || isOutbound(error.cause)
  }
  return (
    error instanceof ResponseBodyError ||
    error instanceof WWWAuthenticateChallengeError ||
    error instanceof TypeError
  )
}

/** Whether a guarded request got no response. */
function isOutbound(error: unknown): error is Unreachable | ProofAbsent {
  return error instanceof Unreachable || error instanceof ProofAbsent
}

/** Describes an error by codes and the libraries' fixed messages. Nothing from the network, except error codes. */
export function describeError(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    return `it answers with the error ${safeErrorCode(error.error)}`
  }
  if (error instanceof WWWAuthenticateChallengeError) return `it answers with ${error.status}`
  if (!(error instanceof Error)) return 'an unknown error'
  if (isOutbound(error.cause)) return error.cause.message
  const { cause } = error as { cause?: { code?: unknown; message?: unknown } }
  const innermost = error instanceof ClientError ? cause?.message : cause?.code
  return [error.message, innermost].filter((each) => typeof each === 'string').join(': ')
}

function safeErrorCode(code: string): string {
  return /^[a-z_]{1,64}$/.test(code) ? code : 'that is not one'
}
