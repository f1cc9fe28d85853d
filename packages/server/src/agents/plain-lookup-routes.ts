import type { ServerResponse } from 'node:http'
import { parseDidOrTail } from '@countersign/protocol'
import { REVALIDATE } from '../core/http/caching.ts'
import { hostsIn, isHost } from '../core/http/framing.ts'
import type { AheadOfRouter } from '../core/http/server.ts'
import type { RequestMetrics } from '../core/metrics/request-metrics.ts'
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

/** Colons are the only characters of a DID that `encodeURIComponent` escapes (contract 4.1). */
function decodeColons(reference: string): string {
  return reference.includes('%') ? reference.replaceAll(/%3a/gi, ':') : reference
}

/** Headers that only the router handles, keyed by the length of their name for speed. */
const ROUTER_ONLY_HEADERS = new Map([
  [6, 'expect'],
  [8, 'if-match'],
  [13, 'if-none-match'],
  [14, 'content-length'],
  [17, 'transfer-encoding'],
])

/** One valid Host header, no condition, no body. */
function isPlain(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (ROUTER_ONLY_HEADERS.get(name.length) === name.toLowerCase()) return false
  }
  const hosts = hostsIn(rawHeaders)
  return hosts.length === 1 && isHost(hosts[0] as string)
}

/** Sends the same headers as the Fastify route, in the same order. */
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
