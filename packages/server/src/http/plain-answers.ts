import { type Naming, parseDidOrTail, type Tail } from '@countersign/protocol'
import { REVALIDATE } from './caching.ts'
import { hostsIn, isHost } from './framing.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'
import type { AheadOfRouter } from './server.ts'

export interface PlainDeps {
  readonly naming: Naming
  readonly metrics: RequestMetrics
  /** False while the service shuts down: requests then go through the router. */
  readonly isReady: () => boolean
}

export interface PlainAnswer {
  /** Type and entity tag, in the order in which the route sends them. */
  readonly headers: Readonly<Record<'content-type' | 'etag', string>>
  /** ASCII only. */
  readonly body: string
}

/** The headers before and after those of an answer, as the router sends them for a public read. */
const FIRST_HEADERS = {
  'x-content-type-options': 'nosniff',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag',
}
const LAST_HEADERS = { vary: 'Accept', 'cache-control': REVALIDATE }

/**
 * Answers plain requests of a route, by DID or tail, before the router, which costs more than the answer itself. The response has
 * the same bytes and headers. Every other request goes through the router.
 * @param url of the route, with the parameter `:agent`
 * @param answer returns null for what the router has to answer
 */
export function plainAnswers(
  { naming, metrics, isReady }: PlainDeps,
  url: string,
  answer: (tail: Tail, rawHeaders: readonly string[]) => PlainAnswer | null,
): AheadOfRouter {
  const [prefix, suffix] = url.split(':agent') as [string, string]
  const series = metrics.series(url, 'GET', 200)
  return ({ url, method, rawHeaders }, response) => {
    if (method !== 'GET' || !url?.startsWith(prefix) || !url.endsWith(suffix)) return false
    const reference = decodeColons(url.slice(prefix.length, url.length - suffix.length))
    const tail = parseDidOrTail(naming, reference)
    if (tail === null || !isPlain(rawHeaders) || !isReady()) return false
    const started = performance.now()
    const answered = answer(tail, rawHeaders)
    if (answered === null) return false
    const { headers, body } = answered
    const length = { 'content-length': body.length }
    response.writeHead(200, { ...FIRST_HEADERS, ...headers, ...LAST_HEADERS, ...length })
    response.end(body, 'latin1')
    series.observe(performance.now() - started)
    return true
  }
}

/**
 * As `plainAnswers`, for a route without parameters.
 * @param cacheControl as the route sends it
 * @param answer returns null for what the router has to answer
 */
export function plainAnswer(
  { metrics, isReady }: PlainDeps,
  route: string,
  cacheControl: string,
  answer: () => { readonly headers: PlainAnswer['headers']; readonly body: Buffer } | null,
): AheadOfRouter {
  const last = { vary: 'Accept', 'cache-control': cacheControl }
  const series = metrics.series(route, 'GET', 200)
  return ({ url, method, rawHeaders }, response) => {
    if (url !== route || method !== 'GET' || !isPlain(rawHeaders) || !isReady()) return false
    const started = performance.now()
    const answered = answer()
    if (answered === null) return false
    const { headers, body } = answered
    const length = { 'content-length': body.length }
    response.writeHead(200, { ...FIRST_HEADERS, ...headers, ...last, ...length })
    response.end(body)
    series.observe(performance.now() - started)
    return true
  }
}

/** Headers that only the router handles, keyed by the length of their name for speed. */
const ROUTER_ONLY_HEADERS = new Map([
  [6, 'expect'],
  [8, 'if-match'],
  [13, 'if-none-match'],
  [14, 'content-length'],
  [17, 'transfer-encoding'],
])

/** Whether a request can be answered before the router: one valid Host header, no condition, no body. */
function isPlain(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (ROUTER_ONLY_HEADERS.get(name.length) === name.toLowerCase()) return false
  }
  const hosts = hostsIn(rawHeaders)
  return hosts.length === 1 && isHost(hosts[0] as string)
}

/** Decodes the only characters of a DID that `encodeURIComponent` escapes (contract 4.1). */
function decodeColons(reference: string): string {
  return reference.includes('%') ? reference.replaceAll(/%3a/gi, ':') : reference
}
