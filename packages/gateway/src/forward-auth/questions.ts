import type { IncomingMessage } from 'node:http'
import type { Asked, Gate } from '../gate.ts'
import { pathOf } from '../policy/rules-of.ts'
import { fieldOf } from '../request/node-headers.ts'
import { isPreflight } from '../request/preflight.ts'

/** How a proxy asks: each has its own way to say which request it is about. */
export type Dialect = 'nginx' | 'forward' | 'envoy'

const PATHS: readonly (readonly [string, Dialect])[] = [
  ['/auth/nginx', 'nginx'],
  ['/auth/forward', 'forward'],
  ['/auth/envoy', 'envoy'],
]

/** @returns null where a path is none of those by which proxies ask. Caddy adds the query of the original. */
export function dialectOf(url: string): Dialect | null {
  const asked = pathOf(url)
  const found = PATHS.find(
    ([path, dialect]) => asked === path || (dialect === 'envoy' && asked.startsWith(`${path}/`)),
  )
  return found?.[1] ?? null
}

/**
 * The request that a proxy asks about. nginx, Caddy, Traefik and HAProxy say it in X-Forwarded-Method and -Uri (Envoy by
 * method and path), and the client's address as the last of X-Forwarded-For: what came before, the client may have made up.
 * @returns null where the proxy does not say which
 */
export function askedBy(
  dialect: Dialect,
  request: IncomingMessage,
  gate: Gate,
  sessions: boolean,
): Asked | null {
  const field = (name: string) => fieldOf(request, name)
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
