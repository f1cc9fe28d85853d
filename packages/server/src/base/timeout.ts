/** An operation took longer than its caller was willing to wait. */
class TimedOut extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * Waits at most so long for `work`. The work itself goes on: it cannot be cancelled from here.
 * @param work its late result or error is discarded
 * @param message of the error
 * @throws Error named `TimeoutError` after `milliseconds`; else whatever `work` rejects with
 */
export async function withTimeout<T>(
  work: Promise<T>,
  milliseconds: number,
  message = `No result after ${milliseconds} ms.`,
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new TimedOut(message)), milliseconds)
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Waits for `work` until `signal` aborts, for work that takes no signal itself, such as a DNS query.
 * @param work its late result or error is discarded
 * @throws the signal's reason once it aborts; else whatever `work` rejects with
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
