/** At most this much of a body is buffered to compute its digest: 10 MiB. */
export const MAX_BODY_BYTES = 10 * 1024 * 1024

/**
 * Reads the body of a request or response, also of one with a stream.
 * @returns null without a body
 */
export async function readBody(
  message: Pick<Request | Response, 'body'>,
  maxBytes = MAX_BODY_BYTES,
): Promise<Uint8Array<ArrayBuffer> | null | 'too-large'> {
  if (message.body === null) return null
  const reader = message.body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > maxBytes) {
      // Not awaited: of a clone, it settles only once the other branch is cancelled too.
      reader.cancel().catch(() => undefined)
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
