import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Ruling } from '../decision/ruling.ts'
import { denialOf } from '../denial.ts'
import type { Gate } from '../gate.ts'
import { fieldOf } from '../request/node-headers.ts'
import type { Dialect } from './questions.ts'

/** By these nginx learns what to answer: its auth_request knows 2xx, 401 and 403 alone. */
const NGINX_STATUS = 'countersign-status'
const NGINX_BODY = 'countersign-body'

/** Answers a proxy: 200 with the headers for the site behind, or the refusal, as far as the proxy passes it on. */
export function reply(
  dialect: Dialect,
  { decision, forwarded }: Ruling,
  gate: Gate,
  sessions: boolean,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const accept = dialect === 'nginx' ? null : fieldOf(request, 'accept')
  const denial = denialOf(decision, gate.naming, accept, sessions)
  if (denial === null) {
    // Caddy 2.6 tells the site the name of its own variable where a header that it is to copy is missing.
    if (dialect === 'forward') {
      for (const name of Object.values(gate.naming.forwardedHeaders)) response.setHeader(name, '')
    }
    for (const [name, value] of forwarded) response.setHeader(name, value)
    if (dialect === 'envoy') removeForged(request, response, gate)
    response.writeHead(200, { 'content-length': 0, 'cache-control': 'no-store' }).end()
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

/** Envoy takes out of the client's request what this header names; it does so after it has set what was decided. */
function removeForged(request: IncomingMessage, response: ServerResponse, gate: Gate): void {
  const forged = Object.keys(request.headers).filter(
    (name) => gate.isIdentityHeader(name) && !response.hasHeader(name),
  )
  if (forged.length > 0) response.setHeader('x-envoy-auth-headers-to-remove', forged.join(','))
}

/** JSON that fits into a header. */
function ascii(json: string): string {
  return json.replace(
    /[\u007f-\uffff]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
