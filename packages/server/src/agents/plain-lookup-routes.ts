import type { ServerResponse } from 'node:http'
import { parseDidOrTail } from '@countersign/protocol'
import { REVALIDATE } from '../http/caching.ts'
import type { RequestMetrics } from '../http/metrics/request-metrics.ts'
import { decodeColons, isPlain, PLAIN_HEADERS } from '../http/plain-request.ts'
import type { AheadOfRouter } from '../http/server.ts'
import type { ReadDeps } from './find-agent.ts'
import { type LookupText, lookupText } from './lookup.ts'
import { LOOKUP_PREFIX, LOOKUP_URL } from './lookup-routes.ts'

export interface PlainLookupDeps {
  readonly read: ReadDeps
  readonly metrics: RequestMetrics
  /** False while the service shuts down: requests then go through the router. */
  readonly isReady: () => boolean
}

/**
 * Answers plain lookups, by DID or tail of an agent in memory, before the router, which costs more than the answer itself.
 * The response has the same bytes and headers. Every other request goes through the router.
 */
export function answerPlainLookups({ read, metrics, isReady }: PlainLookupDeps): AheadOfRouter {
  const series = metrics.series(LOOKUP_URL, 'GET', 200)
  return (request, response) => {
    const { url, method } = request
    if (method !== 'GET' || url === undefined || !url.startsWith(LOOKUP_PREFIX)) return false
    const tail = parseDidOrTail(read.site.naming, decodeColons(url.slice(LOOKUP_PREFIX.length)))
    if (tail === null || !isPlain(request.rawHeaders) || !isReady()) return false
    const view = read.readModel.inMemory(tail)
    if (view === null) return false
    const started = performance.now()
    const answer = lookupText(read.site, view, read.now())
    if (answer === null) return false
    send(response, answer)
    series.observe(performance.now() - started)
    return true
  }
}

/** Sends the same headers as the Fastify route, in the same order. */
function send(response: ServerResponse, { json, tag }: LookupText): void {
  response.writeHead(200, [
    ...PLAIN_HEADERS,
    'etag',
    `"${tag}"`,
    'content-type',
    'application/json; charset=utf-8',
    'cache-control',
    REVALIDATE,
    'vary',
    'Accept',
    'content-length',
    String(json.length),
  ])
  response.end(json, 'latin1')
}
