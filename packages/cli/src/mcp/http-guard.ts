import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The path of the endpoint. */
export const MCP_PATH = '/mcp'

export interface GuardRules {
  /** Names and addresses by which clients may reach the server, in the spelling of `URL.hostname`. */
  readonly hostnames: readonly string[]
  readonly token: string
}

/** The response to a refused request. */
export interface Refusal {
  readonly status: number
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Checks the headers of a request before its body is read. Against DNS rebinding, Host must be a name of this server, and
 * Origin, which only browsers send, must match it (MCP, Transports, security warning). Then the bearer token (RFC 6750).
 * @returns null if the request may pass
 */
export function checkRequest(request: IncomingMessage, rules: GuardRules): Refusal | null {
  const { host = '', origin, authorization = '' } = request.headers
  const { hostnames, token } = rules
  if (!hostnames.includes(URL.parse(`http://${host}`)?.hostname ?? '')) {
    return refuse(
      403,
      'The Host header is not a name of this server. Add the name with --allow-host.',
    )
  }
  if (origin !== undefined && URL.parse(origin)?.host !== host.toLowerCase()) {
    return refuse(403, 'Requests from this Origin are not allowed.')
  }
  const [, given] = /^bearer +(\S+) *$/i.exec(authorization) ?? []
  if (given === undefined || !isSame(given, token)) {
    const error = given === undefined ? '' : ', error="invalid_token"'
    return refuse(401, 'The bearer token of this server is missing or wrong.', {
      'www-authenticate': `Bearer realm="countersign mcp"${error}`,
    })
  }
  if (URL.parse(request.url ?? '', 'http://localhost')?.pathname !== MCP_PATH) {
    return refuse(404, `The endpoint is ${MCP_PATH}.`)
  }
  if (request.method === 'POST') return null
  // Without sessions and server messages there is no stream to GET and no session to DELETE.
  return refuse(405, 'Only POST is allowed.', { allow: 'POST' })
}

function refuse(status: number, message: string, headers: Record<string, string> = {}): Refusal {
  return { status, message, headers }
}

/** Compares in constant time. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest())
  return timingSafeEqual(a as Buffer, b as Buffer)
}
