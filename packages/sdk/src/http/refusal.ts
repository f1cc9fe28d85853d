import { CountersignError, isRemoteErrorCode } from '../errors.ts'

/** Something answered, and not as a service answers. */
export function protocolError(service: URL, what: string, status?: number): CountersignError {
  return new CountersignError(
    'PROTOCOL',
    `${service.origin} ${what}. Is it a Countersign service?`,
    status === undefined ? {} : { status },
  )
}

/**
 * The error in an answer that is no success.
 * @param body what was JSON in it, or undefined
 */
export function refusalOf(
  service: URL,
  status: number,
  body: unknown,
  retryAfterMs: number | null,
): CountersignError {
  const details = { status, ...(retryAfterMs !== null && { retryAfterMs }) }
  const envelope = envelopeIn(body)
  if (status >= 400 && envelope !== null && isRemoteErrorCode(envelope.code)) {
    const { code, message, requestId } = envelope
    return new CountersignError(code, message, { ...details, requestId })
  }
  const what = `${service.origin} answers ${status}`
  if (status === 429) return new CountersignError('RATE_LIMITED', `${what}: too often.`, details)
  if (status >= 500) {
    const why = 'something in front of the service answers for it'
    return new CountersignError('UNAVAILABLE', `${what} without saying why: ${why}.`, details)
  }
  if (status === 200) return protocolError(service, 'answers with what is not JSON', status)
  if (envelope === null)
    return protocolError(service, `answers ${status} without saying why`, status)
  const code = JSON.stringify(envelope.code.slice(0, 64))
  return protocolError(service, `refuses with a code that is not known here, ${code}`, status)
}

interface Envelope {
  readonly code: string
  readonly message: string
  readonly requestId: string
}

/** Contract section 7. */
function envelopeIn(body: unknown): Envelope | null {
  const error = (body as { error?: unknown } | null | undefined)?.error
  if (typeof error !== 'object' || error === null) return null
  const { code, message, requestId } = error as Record<string, unknown>
  const whole =
    typeof code === 'string' && typeof message === 'string' && typeof requestId === 'string'
  return whole ? { code, message, requestId } : null
}
