import type { ServerResponse } from 'node:http'
import { parseDidOrTail } from '@countersign/protocol'
import { REVALIDATE } from '../core/http/caching.ts'
import type { AheadOfRouter } from '../core/http/server.ts'
import type { RequestMetrics } from '../core/metrics/request-metrics.ts'
import type { ReadDeps } from './find-agent.ts'
import { type LookupText, lookupText } from './lookup.ts'
import { LOOKUP_PREFIX, LOOKUP_URL } from './lookup-routes.ts'

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

/** Of what can be percent-encoded in a DID only the colons ever are, by `encodeURIComponent` (contract 4.1). */
function decodeColons(reference: string): string {
  return reference.includes('%') ? reference.replaceAll(/%3a/gi, ':') : reference
}

/** Headers that make a request less plain than what is answered here, by their length. */
const NOT_PLAIN = new Map([
  [6, 'expect'],
  [13, 'if-none-match'],
  [14, 'content-length'],
  [17, 'transfer-encoding'],
])

/** One Host, no condition, no body. Reads the raw headers: Node makes its object of them only when asked. */
function isPlain(rawHeaders: readonly string[]): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (NOT_PLAIN.get(name.length) === name.toLowerCase()) return false
  }
  return hosts === 1
}

/** The headers that the route of Fastify sends, in the same order. */
function send(response: ServerResponse, { json, tag }: LookupText): void {
  response.writeHead(200, [
    'x-content-type-options',
    'nosniff',
    'access-control-allow-origin',
    '*',
    'access-control-expose-headers',
    'ETag',
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
