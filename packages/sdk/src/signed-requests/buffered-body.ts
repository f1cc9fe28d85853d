import { CountersignError } from '../errors.ts'

/** How much of a body is buffered, since a signature covers the digest of the whole: 10 MiB. */
const MAX_BODY_BYTES = 10 * 1024 * 1024

/**
 * Reads the body of a request, also of one with a stream.
 * @returns null without a body
 */
export async function readBody(
  request: Request,
): Promise<Uint8Array<ArrayBuffer> | null | 'too-large'> {
  if (request.body === null) return null
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > MAX_BODY_BYTES) {
      await reader.cancel()
      return 'too-large'
    }
    chunks.push(value)
  }
  const body = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}

/** @throws CountersignError INVALID_ARGUMENT if the body is larger than MAX_BODY_BYTES */
export async function bufferBody(request: Request): Promise<Uint8Array<ArrayBuffer> | null> {
  const body = await readBody(request)
  if (body !== 'too-large') return body
  throw new CountersignError(
    'INVALID_ARGUMENT',
    `A signed request has at most ${MAX_BODY_BYTES} bytes of body: its signature covers a digest of all of it.`,
  )
}
