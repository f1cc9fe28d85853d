/** The largest response body that is read. */
const MAX_RESPONSE_BYTES = 64 * 1024

/** A response body is larger than its limit. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError'
  /** Bytes. */
  readonly limit: number

  constructor(limit: number) {
    super()
    this.limit = limit
  }
}

/**
 * Reads a response body. Past the limit it stops reading, which closes the connection.
 * @throws ResponseTooLargeError, and what the body throws
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  limit = MAX_RESPONSE_BYTES,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) throw new ResponseTooLargeError(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Parses JSON from text or from bytes in UTF-8. @returns undefined if it is not JSON, or not UTF-8 */
export function parseJson(text: string | Uint8Array): unknown {
  try {
    return JSON.parse(
      typeof text === 'string' ? text : new TextDecoder('utf-8', { fatal: true }).decode(text),
    )
  } catch {
    return undefined
  }
}

/** Why a request has no usable response. */
export type FetchFailure = 'redirect' | 'too-large' | 'timeout' | 'unreachable'

/**
 * Sends a request and reads the response as JSON, whatever its status. Follows no redirect, which could carry secrets to
 * another host.
 * @param timeLimitMs for the whole exchange, the body included
 * @returns `body` is undefined if it is not JSON
 * @param errorOf makes the error to throw. It does not get the cause: errors of fetch can contain request headers
 */
export async function fetchBoundedJson(
  url: URL,
  init: Omit<RequestInit, 'redirect' | 'signal'>,
  timeLimitMs: number,
  errorOf: (failure: FetchFailure) => Error,
): Promise<{ status: number; body: unknown }> {
  const signal = AbortSignal.timeout(timeLimitMs)
  let failure: FetchFailure = 'unreachable'
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal })
    if (response.status < 300 || response.status >= 400) {
      const body = await readBounded(response.body ?? [])
      return { status: response.status, body: parseJson(body) }
    }
    failure = 'redirect'
  } catch (error) {
    if (error instanceof ResponseTooLargeError) failure = 'too-large'
    else if (error instanceof Error && error.name === 'TimeoutError') failure = 'timeout'
  }
  throw errorOf(failure)
}
