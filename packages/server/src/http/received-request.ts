import type { RawRequest } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'

/**
 * The request as the signer addressed it. Its authority is that of BASE_URL: behind a proxy, `Host` may be another one, and a
 * signature for another host fails in either case.
 */
export function receivedOf(request: unknown, baseUrl: string): RawRequest {
  const { raw, rawBody } = request as FastifyRequest
  const { host, protocol } = new URL(baseUrl)
  const headers: [string, string][] = []
  for (let i = 0; i + 1 < raw.rawHeaders.length; i += 2) {
    const [name = '', value = ''] = raw.rawHeaders.slice(i, i + 2)
    if (name.toLowerCase() !== 'host') headers.push([name, value])
  }
  return {
    method: raw.method ?? '',
    scheme: protocol === 'https:' ? 'https' : 'http',
    authority: host,
    target: raw.url ?? '',
    headers,
    body: rawBody,
  }
}
