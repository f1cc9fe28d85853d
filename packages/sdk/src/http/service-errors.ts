import { CountersignError, isRemoteErrorCode } from '../errors.ts'

/** The response of something that does not behave like a service. @param what completes "The service …" */
export function protocolError(
  service: URL,
  what: string,
  status?: number,
  details: { readonly requestId?: string; readonly cause?: unknown } = {},
): CountersignError {
  return new CountersignError(
    'PROTOCOL',
    `${service.origin} ${what}. Is it a Countersign service?`,
    status === undefined ? details : { status, ...details },
  )
}

/** A response that is not a success. */
export interface ErrorResponse {
  readonly status: number
  readonly mediaType: string
  /** Parsed JSON; undefined if it was not JSON. */
  readonly body: unknown
  readonly retryAfterMs: number | null
  /** The field `Location`; null without one. */
  readonly location: string | null
}

/**
 * The error that a response reports (contract section 7). A proxy in front of the service may have sent it: then there
 * is no `requestId`, 429 is RATE_LIMITED and 5xx is UNAVAILABLE.
 */
export function errorIn(
  service: URL,
  { status, mediaType, body, retryAfterMs, location }: ErrorResponse,
): CountersignError {
  const details = { status, ...(retryAfterMs !== null && { retryAfterMs }) }
  const envelope = envelopeIn(body)
  if (status >= 400 && envelope !== null && isRemoteErrorCode(envelope.code)) {
    const { code, message, requestId } = envelope
    const known = { ...details, requestId, ...(location !== null && { location }) }
    return new CountersignError(code, message, known)
  }
  const { origin } = service
  if (status === 429) {
    return new CountersignError(
      'RATE_LIMITED',
      `${origin} answers 429: too many requests.`,
      details,
    )
  }
  const notJson = /json/.test(mediaType)
    ? `answers ${status} with what is not JSON`
    : `answers ${status} with ${mediaType || 'no media type'} instead of JSON`
  if (status >= 500) {
    const what = body === undefined ? notJson : `answers ${status} without saying why`
    const why = 'something in front of the service answers for it'
    return new CountersignError('UNAVAILABLE', `${origin} ${what}: ${why}.`, details)
  }
  if (body === undefined) return protocolError(service, notJson, status)
  if (envelope === null) {
    return protocolError(service, `answers ${status} without saying why`, status)
  }
  const code = JSON.stringify(envelope.code.slice(0, 64))
  const what = `refuses with a code that is not known here, ${code}`
  const { requestId, ...cause } = envelope
  return protocolError(service, what, status, { requestId, cause })
}

interface Envelope {
  readonly code: string
  readonly message: string
  readonly requestId: string
}

/** Contract section 7. Any code is accepted here: a newer service may have further ones. */
function envelopeIn(body: unknown): Envelope | null {
  const error = (body as { error?: unknown } | null | undefined)?.error
  if (typeof error !== 'object' || error === null) return null
  const { code, message, requestId } = error as Record<string, unknown>
  const complete =
    typeof code === 'string' && typeof message === 'string' && typeof requestId === 'string'
  return complete ? { code, message, requestId } : null
}
