import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RawRequest } from '@countersign/protocol'
import type { Outcome } from '../decision/outcome.ts'
import { denialFor } from '../denial.ts'
import type { Gate } from '../gate.ts'
import { headerOf } from '../request/node-request.ts'
import type { Dialect } from './proxy-request.ts'

/** Headers with the response for the client, because nginx's auth_request passes on only the statuses 2xx, 401 and 403. */
const NGINX_STATUS = 'countersign-status'
const NGINX_BODY = 'countersign-body'

/** Answers a proxy: 200 with the headers for the site behind it, or the refusal in the form that the proxy supports. */
export function reply(
  dialect: Dialect,
  { decision, forwarded }: Outcome,
  gate: Gate,
  raw: () => RawRequest,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const accept = dialect === 'nginx' ? null : headerOf(request, 'accept')
  const denial = decision.admitted ? null : denialFor(decision, gate, accept, raw)
  if (denial === null) {
    // If a header to copy is missing, Caddy 2.6 forwards the literal name of its placeholder. Empty headers avoid that.
    if (dialect === 'forward') {
      for (const name of Object.values(gate.naming.forwardedHeaders)) response.setHeader(name, '')
    }
    for (const [name, value] of forwarded) response.setHeader(name, value)
    const forged = forgedHeaders(request, gate)
    if (dialect === 'envoy') removeForged(forged, response)
    // nginx cannot remove headers by pattern. A status other than 2xx makes it pass the request on without them.
    const withoutForged = dialect === 'nginx' && forged.some((name) => !isReplaced(name, gate))
    if (withoutForged) response.setHeader(NGINX_STATUS, 200)
    const status = withoutForged ? 403 : 200
    response.writeHead(status, { 'content-length': 0, 'cache-control': 'no-store' }).end()
    return
  }
  for (const [name, value] of denial.headers) response.setHeader(name, value)
  if (dialect !== 'nginx') {
    response.writeHead(denial.status).end(denial.body)
    return
  }
  response.setHeader(NGINX_STATUS, denial.status)
  response.setHeader(NGINX_BODY, ascii(denial.body))
  response.writeHead(denial.status === 401 ? 401 : 403).end()
}

/** The names of the identity headers that the client sent. */
function forgedHeaders(request: IncomingMessage, gate: Gate): string[] {
  return Object.keys(request.headers).filter(gate.isIdentityHeader)
}

/** Whether a proxy that replaces the headers of `forwardedHeaders` by their names replaces this one. */
function isReplaced(name: string, { naming }: Gate): boolean {
  return Object.values(naming.forwardedHeaders).some((each) => each.toLowerCase() === name)
}

/** Tells Envoy which client headers to remove. It removes them after adding ours, so those must not be listed. */
function removeForged(forged: readonly string[], response: ServerResponse): void {
  const names = forged.filter((name) => !response.hasHeader(name))
  if (names.length > 0) response.setHeader('x-envoy-auth-headers-to-remove', names.join(','))
}

/** Escapes JSON for use in a header value. */
function ascii(json: string): string {
  return json.replace(
    /[\u007f-\uffff]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
