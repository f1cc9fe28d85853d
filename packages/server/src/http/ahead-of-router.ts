import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseDidOrTail } from '@countersign/protocol'
import type { ReadDeps } from '../domain/find-agent.ts'
import { lookupOf } from '../domain/lookup.ts'
import type { AheadOfRouter } from './bare-app.ts'
import { REVALIDATE } from './caching.ts'
import { hasOneHost } from './host-header.ts'
import type { RequestMetrics } from './metrics.ts'
import { LOOKUP_PREFIX, LOOKUP_URL } from './routes/lookup.ts'

export interface AheadDeps {
  readonly read: ReadDeps
  readonly metrics: RequestMetrics
  /** Whether requests still come this way: while the service shuts down, none does. */
  readonly isReady: () => boolean
}

/**
 * The plainest and by far the most frequent question, a lookup by DID or tail of an agent in memory, costs more in
 * the router than in the answer. It is answered here in the same bytes; whatever is less plain goes through the router.
 */
export function answerPlainLookups({ read, metrics, isReady }: AheadDeps): AheadOfRouter {
  return (request, response) => {
    const { url, method } = request
    if (method !== 'GET' || url === undefined || !url.startsWith(LOOKUP_PREFIX)) return false
    const tail = parseDidOrTail(read.site.naming, url.slice(LOOKUP_PREFIX.length))
    if (tail === null || !hasOneHost(request) || !isPlain(request) || !isReady()) return false
    const view = read.registry.inMemory(tail)
    if (view === null) return false
    const started = performance.now()
    send(response, JSON.stringify(lookupOf(read.site, view, read.now())))
    metrics.observe(LOOKUP_URL, 'GET', 200, performance.now() - started)
    return true
  }
}

function isPlain({ headers }: IncomingMessage): boolean {
  return (
    headers['if-none-match'] === undefined &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    headers.expect === undefined
  )
}

/** The headers that the route of Fastify sends, in the same order. */
function send(response: ServerResponse, body: string): void {
  response.writeHead(200, [
    'x-content-type-options',
    'nosniff',
    'access-control-allow-origin',
    '*',
    'access-control-expose-headers',
    'ETag',
    'content-type',
    'application/json; charset=utf-8',
    'etag',
    `"${hash('sha1', body, 'base64url')}"`,
    'cache-control',
    REVALIDATE,
    'vary',
    'Accept',
    'content-length',
    String(Buffer.byteLength(body)),
  ])
  response.end(body)
}
