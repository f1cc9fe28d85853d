import { CountersignError } from '../errors.ts'

/** How long a call may take, and how often it is tried. All times in milliseconds. */
export interface Patience {
  /** For a call as a whole, retries and waits among them. */
  readonly timeoutMs: number
  /** For one attempt of it. */
  readonly attemptTimeoutMs: number
  /** How often at most a call is tried again where that is safe. */
  readonly retries: number
  /** The wait before a retry is drawn from 0 to this, doubled for each ("full jitter"). */
  readonly retryBaseMs: number
}

/** What a call may be tried again after. */
export type MayRetry = (error: CountersignError) => boolean

const MOST_WAIT_MS = 10_000

/** Errors after which asking again does no harm where the question changes nothing. */
export const isTransient: MayRetry = ({ code }) =>
  ['NETWORK', 'TIMEOUT', 'RATE_LIMITED', 'INTERNAL_ERROR', 'UNAVAILABLE'].includes(code)

/**
 * Errors after which it is certain that a claim was not processed: it never left, or the service counted it and looked
 * no further.
 */
export const isUntouched: MayRetry = ({ code, requestId, cause }) =>
  (code === 'RATE_LIMITED' && requestId !== null) || (code === 'NETWORK' && neverLeft(cause))

/** What Node, Deno and Bun say before a connection stands. Browsers say nothing. */
const NEVER_LEFT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$|CERT|^ERR_(TLS|SSL)/

function neverLeft(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  return NEVER_LEFT.test(String(code ?? cause?.code ?? ''))
}

/**
 * Tries until it succeeds, until trying again is not safe or not worth it, or until time is up. Retry-After is heeded:
 * where it asks for more than the time that is left, the error comes at once.
 * @param attempt is given a signal that ends it
 * @throws CountersignError what the last attempt threw, TIMEOUT, ABORTED
 */
export async function withPatience<T>(
  patience: Patience,
  mayRetry: MayRetry,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + patience.timeoutMs
  for (let tries = 0; ; tries++) {
    const left = deadline - performance.now()
    try {
      return await attemptOnce(Math.min(left, patience.attemptTimeoutMs), signal, attempt)
    } catch (thrown) {
      const error = thrown as CountersignError
      const wait = waitBefore(tries, patience.retryBaseMs, error.retryAfterMs)
      const inTime = performance.now() + wait < deadline
      if (tries >= patience.retries || !inTime || !mayRetry(error)) throw error
      await pause(wait, signal)
    }
  }
}

function waitBefore(tries: number, baseMs: number, retryAfterMs: number | null): number {
  const jitter = Math.random() * Math.min(MOST_WAIT_MS, baseMs * 2 ** tries)
  // Whoever was told the same moment does not come back at the same moment.
  return retryAfterMs === null ? jitter : retryAfterMs + jitter
}

async function attemptOnce<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw abortedBy(signal)
  const controller = new AbortController()
  let late = false
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason))
  })
  const end = () => controller.abort()
  const timer = setTimeout(() => {
    late = true
    end()
  }, timeoutMs)
  signal?.addEventListener('abort', end)
  try {
    // A fetch of the caller's own may not know signals.
    return await Promise.race([attempt(controller.signal), ended])
  } catch (cause) {
    if (signal?.aborted) throw abortedBy(signal)
    if (cause instanceof CountersignError) throw cause
    const seconds = Math.round(timeoutMs / 100) / 10
    if (late)
      throw new CountersignError('TIMEOUT', `No answer within ${seconds} seconds.`, { cause })
    throw new CountersignError('NETWORK', `The service cannot be reached: ${reasonOf(cause)}.`, {
      cause,
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}

function reasonOf(error: unknown): string {
  const { cause } = (error ?? {}) as { cause?: { code?: unknown; message?: unknown } }
  return String(cause?.code ?? cause?.message ?? (error as Error | null)?.message ?? error)
}

/** What a caller gets who has ended a call. A signal of `AbortSignal.timeout` is the caller's own time-out. */
export function abortedBy(signal: AbortSignal): CountersignError {
  const cause = signal.reason
  return (cause as Error | null)?.name === 'TimeoutError'
    ? new CountersignError('TIMEOUT', 'No answer within the time that the caller allows.', {
        cause,
      })
    : new CountersignError('ABORTED', 'The caller has ended the call.', { cause })
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(abortedBy(signal as AbortSignal))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}
