import type { IncomingMessage } from 'node:http'
import type { Gate, GatewayRequest } from '../gate.ts'
import { pathOf } from '../policy/route-matcher.ts'
import { headerOf } from '../request/node-headers.ts'
import { isPreflight } from '../request/preflight.ts'

/** How a proxy describes the client's request to the forward-auth server. */
export type Dialect = 'nginx' | 'forward' | 'envoy'

const PATHS: readonly (readonly [string, Dialect])[] = [
  ['/auth/nginx', 'nginx'],
  ['/auth/forward', 'forward'],
  ['/auth/envoy', 'envoy'],
]

/** @returns null if the path is not one of the forward-auth endpoints. Ignores the query, which Caddy adds. */
export function dialectFor(url: string): Dialect | null {
  const requested = pathOf(url)
  const found = PATHS.find(
    ([path, dialect]) =>
      requested === path || (dialect === 'envoy' && requested.startsWith(`${path}/`)),
  )
  return found?.[1] ?? null
}

/**
 * Reads the client's request from the proxy's. nginx, Caddy, Traefik and HAProxy send it in X-Forwarded-Method and
 * X-Forwarded-Uri, Envoy as its own method and path. Only the last address in X-Forwarded-For is trusted: the proxy added
 * it, and the client may have forged the others.
 * @returns null if the proxy's request does not contain it
 */
export function proxyRequest(
  dialect: Dialect,
  request: IncomingMessage,
  gate: Gate,
  sessions: boolean,
): GatewayRequest | null {
  const field = (name: string) => headerOf(request, name)
  const { method, url = '' } = request
  const original =
    dialect === 'envoy'
      ? { method, target: url.slice('/auth/envoy'.length) || '/' }
      : { method: field('x-forwarded-method'), target: field('x-forwarded-uri') }
  if (!original.method || !original.target) return null
  return {
    method: original.method,
    target: original.target,
    identification: field(gate.idHeader),
    authorization: sessions ? field('authorization') : null,
    address: () => field('x-forwarded-for')?.split(',').at(-1)?.trim() ?? null,
    preflight: isPreflight(original.method, field),
  }
}
