import type { ServerResponse } from 'node:http'
import { type Naming, parseDidOrTail, type Tail } from '@countersign/protocol'
import { etagOf } from './caching.ts'
import { hostsIn, isHost } from './framing.ts'
import type { RequestMetrics } from './metrics/request-metrics.ts'
import type { AheadOfRouter } from './server.ts'

export interface PlainDeps {
  readonly naming: Naming
  readonly metrics: RequestMetrics
  /** False while the service shuts down: requests then go through the router. */
  readonly isReady: () => boolean
}

export const JSON_UTF8 = 'application/json; charset=utf-8'

export interface PlainAnswer {
  /** Type and entity tag, names and values alternating, in the order in which the route sends them. */
  readonly headers: readonly [string, string, string, string]
  readonly body: string | Buffer
  /** Of the body, in bytes. If a text has as many characters, all of them are ASCII. */
  readonly length: number
}

/** An answer with the entity tag that the router would give it. */
export function taggedAnswer(type: string, body: string): PlainAnswer {
  return {
    headers: ['content-type', type, 'etag', etagOf(body)],
    body,
    length: Buffer.byteLength(body),
  }
}

/**
 * Answers plain requests of a route, by DID or tail, before the router, which costs more than the answer itself. The response has
 * the same bytes and headers. Every other request goes through the router.
 * @param route its URL, with a parameter such as `:agent`, and its `Cache-Control`
 * @param answer returns null for what the router has to answer
 */
export function plainAnswers(
  { naming, metrics, isReady }: PlainDeps,
  { url, cacheControl }: PlainRoute,
  answer: (tail: Tail, rawHeaders: readonly string[], reference: string) => PlainAnswer | null,
): AheadOfRouter {
  const [prefix, suffix] = url.split(/:\w+/) as [string, string]
  const series = metrics.series(url, 'GET', 200)
  return ({ url, method, rawHeaders }, response) => {
    if (method !== 'GET' || !url?.startsWith(prefix) || !url.endsWith(suffix)) return false
    const reference = decodeColons(url.slice(prefix.length, url.length - suffix.length))
    const tail = parseDidOrTail(naming, reference)
    if (tail === null || !isPlain(rawHeaders) || !isReady()) return false
    const started = performance.now()
    const answered = answer(tail, rawHeaders, reference)
    if (answered === null) return false
    send(response, answered, cacheControl)
    series.observe(performance.now() - started)
    return true
  }
}

export interface PlainRoute {
  readonly url: string
  /** As the route sends it. */
  readonly cacheControl: string
}

/**
 * As `plainAnswers`, for a route without parameters.
 * @param answer returns null for what the router has to answer
 */
export function plainAnswer(
  { metrics, isReady }: Omit<PlainDeps, 'naming'>,
  route: PlainRoute,
  answer: () => PlainAnswer | null,
): AheadOfRouter {
  const series = metrics.series(route.url, 'GET', 200)
  return ({ url, method, rawHeaders }, response) => {
    if (url !== route.url || method !== 'GET' || !isPlain(rawHeaders) || !isReady()) return false
    const started = performance.now()
    const answered = answer()
    if (answered === null) return false
    send(response, answered, route.cacheControl)
    series.observe(performance.now() - started)
    return true
  }
}

/** Sends the headers of a public read in the order in which the router sends them. */
function send(
  response: ServerResponse,
  { headers: [name1, value1, name2, value2], body, length }: PlainAnswer,
  cacheControl: string,
): void {
  response.writeHead(200, [
    'x-content-type-options',
    'nosniff',
    'access-control-allow-origin',
    '*',
    'access-control-expose-headers',
    'ETag',
    name1,
    value1,
    name2,
    value2,
    'vary',
    'Accept',
    'cache-control',
    cacheControl,
    'content-length',
    String(length),
  ])
  if (typeof body !== 'string') response.end(body)
  else response.end(body, length === body.length ? 'latin1' : 'utf8')
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
    const handled = ROUTER_ONLY_HEADERS.get(name.length)
    if (handled !== undefined && handled === name.toLowerCase()) return false
  }
  const hosts = hostsIn(rawHeaders)
  return hosts.length === 1 && isHost(hosts[0] as string)
}

/** The value of the Accept header, as Node joins several; null without one. */
export function acceptIn(rawHeaders: readonly string[]): string | null {
  let accept: string | null = null
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length !== 6 || name.toLowerCase() !== 'accept') continue
    const value = rawHeaders[i + 1] as string
    accept = accept === null ? value : `${accept}, ${value}`
  }
  return accept
}

/** Decodes the only characters of a DID that `encodeURIComponent` escapes (contract 4.1). */
function decodeColons(reference: string): string {
  return reference.includes('%') ? reference.replaceAll(/%3a/gi, ':') : reference
}
