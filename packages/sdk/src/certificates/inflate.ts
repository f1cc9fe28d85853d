import { bytesOf } from './verify-jwk-signature.ts'

/** As `inflate`, for data in base64url without padding. */
export async function inflateBase64Url(text: string, maxBytes: number): Promise<Uint8Array | null> {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null
  return inflate(bytesOf(text), maxBytes)
}

/**
 * Decompresses zlib data (RFC 1950).
 * @param maxBytes decompression stops beyond this, so that small data cannot fill the memory
 * @returns null if the data are not zlib, or have more bytes
 */
async function inflate(data: Uint8Array, maxBytes: number): Promise<Uint8Array | null> {
  const stream = new Blob([new Uint8Array(data)]).stream()
  const reader = stream.pipeThrough(new DecompressionStream('deflate')).getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      size += value.length
      if (size > maxBytes) {
        await reader.cancel()
        return null
      }
      chunks.push(value)
    }
  } catch {
    return null
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
