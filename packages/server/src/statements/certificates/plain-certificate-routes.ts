import type { ServerResponse } from 'node:http'
import { parseDidOrTail } from '@countersign/protocol'
import type { AgentView } from '../../agents/agent-record.ts'
import type { ReadDeps } from '../../agents/find-agent.ts'
import { REVALIDATE } from '../../http/caching.ts'
import type { RequestMetrics } from '../../http/metrics/request-metrics.ts'
import { decodeColons, isPlain, PLAIN_HEADERS } from '../../http/plain-request.ts'
import type { AheadOfRouter } from '../../http/server.ts'
import { CERTIFICATE_URL, JWT_TYPE, tagOf } from './certificate-routes.ts'
import type { Issuer } from './issue.ts'

export interface PlainCertificateDeps {
  readonly read: ReadDeps
  readonly issuer: Issuer
  readonly metrics: RequestMetrics
  /** False while the service shuts down: requests then go through the router. */
  readonly isReady: () => boolean
}

const [PREFIX, SUFFIX] = CERTIFICATE_URL.split(':agent') as [string, string]

/**
 * Answers plain requests for certificates in the default format, by DID or tail of an agent in memory, before the router, which costs
 * more than a signature. The response has the same bytes and headers. Every other request goes through the router.
 */
export function answerPlainCertificates(deps: PlainCertificateDeps): AheadOfRouter {
  const { read, issuer, metrics, isReady } = deps
  const series = metrics.series(CERTIFICATE_URL, 'GET', 200)
  return ({ url, method, rawHeaders }, response) => {
    if (method !== 'GET' || !url?.endsWith(SUFFIX) || !url.startsWith(PREFIX)) return false
    const reference = decodeColons(url.slice(PREFIX.length, -SUFFIX.length))
    const tail = parseDidOrTail(read.site.naming, reference)
    if (tail === null || !isPlain(rawHeaders) || namesSdJwt(rawHeaders) || !isReady()) return false
    const started = performance.now()
    const view = read.readModel.inMemory(tail)
    const certificate = view && certificateOf(issuer, view)
    if (certificate === null) return false
    send(response, certificate)
    series.observe(performance.now() - started)
    return true
  }
}

/** Null also for what cannot be issued now: the router's handler fails in the same way and answers the error. */
function certificateOf(issuer: Issuer, view: AgentView): string | null {
  try {
    return issuer.certificateAtOnce(view, 'EdDSA')
  } catch {
    return null
  }
}

/** Whether the client may prefer the other format. */
function namesSdJwt(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length !== 6 || name.toLowerCase() !== 'accept') continue
    if (/sd-jwt/i.test(rawHeaders[i + 1] as string)) return true
  }
  return false
}

/** Sends the same headers as the Fastify route, in the same order. */
function send(response: ServerResponse, certificate: string): void {
  response.writeHead(200, [
    ...PLAIN_HEADERS,
    'content-type',
    JWT_TYPE,
    'etag',
    tagOf(certificate),
    'vary',
    'Accept',
    'cache-control',
    REVALIDATE,
    'content-length',
    String(certificate.length),
  ])
  response.end(certificate, 'latin1')
}
