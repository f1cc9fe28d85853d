import { CountersignError, type CountersignErrorCode } from '../errors.ts'

/** Time limits and retries of a call. All times in milliseconds. */
export interface RetryPolicy {
  /** Limit for a call, with all its retries and waits. */
  readonly timeoutMs: number
  /** Limit for one attempt. */
  readonly attemptTimeoutMs: number
  /** How many retries at most. */
  readonly retries: number
  /** The wait before a retry is drawn from 0 to this, doubled for each further one ("full jitter"). */
  readonly retryBaseMs: number
}

/** Whether a call may be retried after an error. */
export type MayRetry = (error: CountersignError) => boolean

const MAX_WAIT_MS = 10_000

/** Errors after which a request that changes nothing may be sent again. */
export const isTransient: MayRetry = ({ code }) =>
  ['NETWORK', 'TIMEOUT', 'RATE_LIMITED', 'INTERNAL_ERROR', 'UNAVAILABLE'].includes(code)

/**
 * Errors after which it is certain that the service did not process a claim: the request was never sent, or the
 * service's own rate limit refused it.
 */
export const wasNotProcessed: MayRetry = ({ code, requestId, neverSent }) =>
  neverSent || (code === 'RATE_LIMITED' && requestId !== null)

/** Error codes of Node, Deno and Bun for connections that were not established. Browsers give none. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$|CERT|SIGNATURE|^ERR_(TLS|SSL)/

/** Codes of Node for certificates that it does not trust. */
const UNTRUSTED =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET_ISSUER_CERT(_LOCALLY)?|VERIFY_LEAF_SIGNATURE))$/

/** The error of a request to an https site whose certificate this machine does not trust. @returns null if it is another one */
export function untrustedCertificate(origin: string, error: unknown): CountersignError | null {
  const { code } = ((error as Error | null)?.cause ?? error ?? {}) as { readonly code?: unknown }
  if (!UNTRUSTED.test(String(code))) return null
  return new CountersignError(
    'NETWORK',
    `${origin} has a TLS certificate that this machine does not trust (${code}). If it is of a certificate authority of your own, start the program with NODE_EXTRA_CA_CERTS=<its certificate in PEM>.`,
    { cause: error, neverSent: true },
  )
}

/** Errors after which a claim may have been processed. */
const MAYBE_PROCESSED: readonly CountersignErrorCode[] = [
  'NETWORK',
  'TIMEOUT',
  'ABORTED',
  'PROTOCOL',
  'INTERNAL_ERROR',
  'UNAVAILABLE',
]

/** The error of a claim: OUTCOME_UNKNOWN if the service may have processed it, else the error itself. */
export function claimError(error: CountersignError): CountersignError {
  if (wasNotProcessed(error) || !MAYBE_PROCESSED.includes(error.code)) return error
  return new CountersignError(
    'OUTCOME_UNKNOWN',
    `${error.message} Whether the claim went through is unknown: look the key up.`,
    {
      cause: error,
      ...(error.status !== null && { status: error.status }),
      ...(error.requestId !== null && { requestId: error.requestId }),
    },
  )
}

/**
 * Repeats an attempt until it succeeds, may not be retried, or time is up. Retry-After is honoured: if it asks for more
 * time than is left, the error is thrown at once.
 * @param origin of the service, for messages
 * @param attempt gets a signal that aborts it
 * @throws CountersignError of the last attempt; TIMEOUT, NETWORK, ABORTED
 */
export async function withRetries<T>(
  origin: string,
  policy: RetryPolicy,
  mayRetry: MayRetry,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + policy.timeoutMs
  for (let tries = 0; ; tries++) {
    const left = deadline - performance.now()
    try {
      return await attemptOnce(origin, Math.min(left, policy.attemptTimeoutMs), signal, attempt)
    } catch (thrown) {
      const error = thrown as CountersignError
      const wait = waitBefore(tries, policy.retryBaseMs, error.retryAfterMs)
      const inTime = performance.now() + wait < deadline
      if (tries >= policy.retries || !inTime || !mayRetry(error)) throw error
      await pause(wait, signal)
    }
  }
}

function waitBefore(tries: number, baseMs: number, retryAfterMs: number | null): number {
  const jitter = Math.random() * Math.min(MAX_WAIT_MS, baseMs * 2 ** tries)
  // Clients that got the same Retry-After must not all return at the same moment.
  return retryAfterMs === null ? jitter : retryAfterMs + jitter
}

async function attemptOnce<T>(
  origin: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw abortedBy(signal)
  const controller = new AbortController()
  let timedOut = false
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason))
  })
  const abort = () => controller.abort()
  const timer = setTimeout(() => {
    timedOut = true
    abort()
  }, timeoutMs)
  signal?.addEventListener('abort', abort)
  try {
    // The race is for a caller's own `fetch` that ignores signals.
    return await Promise.race([attempt(controller.signal), aborted])
  } catch (cause) {
    if (signal?.aborted) throw abortedBy(signal)
    if (cause instanceof CountersignError) throw cause
    if (!timedOut) throw networkError(origin, cause)
    const seconds = Math.round(timeoutMs / 100) / 10
    const message = `${origin} has not answered within ${seconds} seconds.`
    throw new CountersignError('TIMEOUT', message, { cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function networkError(origin: string, error: unknown): CountersignError {
  const untrusted = untrustedCertificate(origin, error)
  if (untrusted !== null) return untrusted
  const { code, cause, message } = (error ?? {}) as {
    readonly code?: unknown
    readonly cause?: { readonly code?: unknown; readonly message?: unknown }
    readonly message?: unknown
  }
  const systemCode = String(cause?.code ?? code ?? '')
  const reason = systemCode || String(cause?.message ?? message ?? error)
  const neverSent = NOT_CONNECTED.test(systemCode)
  const what = neverSent ? 'cannot be reached' : 'broke off before it answered'
  return new CountersignError('NETWORK', `${origin} ${what} (${reason}).`, {
    cause: error,
    neverSent,
  })
}

/** The error of a call that its caller aborted. The signal of `AbortSignal.timeout` counts as a timeout. */
export function abortedBy(signal: AbortSignal): CountersignError {
  const cause = signal.reason
  return (cause as Error | null)?.name === 'TimeoutError'
    ? new CountersignError('TIMEOUT', 'No response within the time limit of the caller.', {
        cause,
      })
    : new CountersignError('ABORTED', 'The caller aborted the call.', { cause })
}

/** @throws CountersignError ABORTED, TIMEOUT if the signal ends the wait */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(abortedBy(signal as AbortSignal))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Whether no response came. */
export const isDisconnected: MayRetry = ({ code }) => code === 'NETWORK'
