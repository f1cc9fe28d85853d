import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { startSite } from '../../../../test/support/impostor.ts'
import type { Registry } from '../../src/registry.ts'
import { memoryNonceStore } from '../../src/relying-party/memory-nonce-store.ts'
import { type VerifyRequestOptions, verifyRequest } from '../../src/relying-party/verify-request.ts'

/** A nonce store that is older than every request of a test. */
export function olderNonceStore(maxEntries?: number) {
  let now = () => Date.now() - 3_600_000
  const store = memoryNonceStore(maxEntries, () => now())
  now = Date.now
  return store
}

/** A request as node:http received it. */
export async function rawRequestOf(request: IncomingMessage) {
  const body = await buffer(request)
  const { rawHeaders } = request
  const headers = rawHeaders.flatMap((name, i) =>
    i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? ''] as const] : [],
  )
  return {
    method: request.method ?? '',
    scheme: 'http',
    authority: request.headers.host ?? '',
    target: request.url ?? '',
    headers,
    body: new Uint8Array(body),
  } as const
}

export type ReceivedRequest = Awaited<ReturnType<typeof rawRequestOf>>

/**
 * A site that verifies what it receives and answers with the verdict: 200 or 401. `/to?<address>` and `/see-other?<address>` redirect.
 */
export async function startVerifyingSite(
  t: TestContext,
  registry: Registry,
  options: Partial<VerifyRequestOptions> = {},
) {
  const received: ReceivedRequest[] = []
  const nonces = olderNonceStore()
  const site = await startSite(t, async (incoming, response) => {
    const request = await rawRequestOf(incoming)
    received.push(request)
    const [path, query = ''] = request.target.split('?')
    if (path === '/to' || path === '/see-other') {
      response.writeHead(path === '/to' ? 307 : 303, { location: decodeURIComponent(query) }).end()
      return
    }
    const result = await verifyRequest(request, { registry, audiences: [site], nonces, ...options })
    response.writeHead(result.verdict === 'verified' ? 200 : 401)
    response.end(JSON.stringify(result))
  })
  return { site, received }
}
