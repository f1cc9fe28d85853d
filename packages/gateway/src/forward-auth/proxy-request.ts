import type { IncomingMessage } from 'node:http'
import type { RawRequest } from '@countersign/protocol'
import type { Gate } from '../gate.ts'
import { pathOf } from '../policy/route-matcher.ts'
import type { GatewayRequest } from '../request/gateway-request.ts'
import { isPreflight, isSigned } from '../request/headers.ts'
import { headerOf } from '../request/node-request.ts'

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

/** Why a proxy's question does not describe the client's request: its configuration lacks something. */
export type ProxyFault =
  | 'X-Forwarded-Method and X-Forwarded-Uri do not say which request it is about.'
  | 'X-Forwarded-Host and X-Forwarded-Proto do not say at which origin a signed request arrived.'

/**
 * Reads the client's request from the proxy's. nginx, Caddy, Traefik and HAProxy send it in X-Forwarded-Method, -Uri, -Host and
 * -Proto; Envoy as its own method, path and Host, and X-Forwarded-Proto. Only the last address in X-Forwarded-For is trusted:
 * the proxy added it, and the client may have forged the others.
 * @returns what is missing if the proxy's request does not contain it
 */
export function proxyRequest(
  dialect: Dialect,
  request: IncomingMessage,
  gate: Gate,
): GatewayRequest | ProxyFault {
  const field = (name: string) => headerOf(request, name)
  const { method, url = '' } = request
  const original =
    dialect === 'envoy'
      ? { method, target: url.slice('/auth/envoy'.length) || '/', host: field('host') }
      : {
          method: field('x-forwarded-method'),
          target: field('x-forwarded-uri'),
          host: field('x-forwarded-host'),
        }
  if (!original.method || !original.target) {
    return 'X-Forwarded-Method and X-Forwarded-Uri do not say which request it is about.'
  }
  const scheme = schemeIn(field('x-forwarded-proto'))
  const signed = gate.accepts.signatures && isSigned({ get: field })
  if (signed && (!original.host || scheme === null)) {
    return 'X-Forwarded-Host and X-Forwarded-Proto do not say at which origin a signed request arrived.'
  }
  const raw: RawRequest = {
    method: original.method,
    scheme: scheme ?? 'http',
    authority: original.host ?? '',
    target: original.target,
    headers: clientFields(request.rawHeaders),
  }
  return {
    method: original.method,
    target: original.target,
    identification: field(gate.idHeader),
    authorization: gate.accepts.sessions ? field('authorization') : null,
    address: () => clientAddress(request),
    preflight: isPreflight(original.method, { get: field }),
    signed: isSigned({ get: field }),
    raw: () => raw,
    readBody: null,
  }
}

/** The address that the proxy saw: the last one in X-Forwarded-For, since the client may have forged the others. */
export function clientAddress(request: IncomingMessage): string | null {
  return headerOf(request, 'x-forwarded-for')?.split(',').at(-1)?.trim() ?? null
}

/** Traefik says `wss` for a WebSocket over TLS. */
export function schemeIn(proto: string | null): 'http' | 'https' | null {
  if (proto === 'https' || proto === 'wss') return 'https'
  return proto === 'http' || proto === 'ws' ? 'http' : null
}

/** Proxies replace these: they are about their own connection, and the body that they do not send. */
const OF_THE_PROXY: readonly string[] = ['host', 'content-length', 'transfer-encoding']

function clientFields(rawHeaders: readonly string[]): [string, string][] {
  const fields: [string, string][] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (!OF_THE_PROXY.includes(name.toLowerCase())) fields.push([name, rawHeaders[i + 1] as string])
  }
  return fields
}
