import { protocolError } from './refusal.ts'

/**
 * Reads the body of an answer, as far as it may be long.
 * @throws CountersignError PROTOCOL where there is more: the rest is not read
 */
export async function readBounded(
  response: Response,
  maxBytes: number,
  service: URL,
): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  if (reader === undefined) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > maxBytes) {
      await reader.cancel()
      throw protocolError(service, `sends more than ${maxBytes} bytes`, response.status)
    }
    chunks.push(value)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
