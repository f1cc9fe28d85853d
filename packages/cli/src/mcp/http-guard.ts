import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Where the endpoint is. */
export const MCP_PATH = '/mcp'

export interface GuardRules {
  /** Names and addresses by which clients may reach the server, as URL has them. */
  readonly hostnames: readonly string[]
  readonly token: string
}

/** Why a request is turned away. */
export interface TurnedAway {
  readonly status: number
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Looks at a request before anything of it is read. Against DNS rebinding: the Host has to be one of ours, and an
 * Origin, which only browsers send, the same (MCP, Transports, security warning). Then the bearer token (RFC 6750).
 * @returns null where it may pass
 */
export function turnAway(request: IncomingMessage, rules: GuardRules): TurnedAway | null {
  const { host = '', origin, authorization = '' } = request.headers
  const { hostnames, token } = rules
  if (!hostnames.includes(URL.parse(`http://${host}`)?.hostname ?? '')) {
    return refuse(403, 'This server does not answer under that Host.')
  }
  if (origin !== undefined && URL.parse(origin)?.host !== host.toLowerCase()) {
    return refuse(403, 'This server does not answer pages of that Origin.')
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
  // No sessions, and nothing that the server would say unasked: there is no stream to GET and nothing to DELETE.
  return refuse(405, 'This server answers POST alone.', { allow: 'POST' })
}

function refuse(status: number, message: string, headers: Record<string, string> = {}): TurnedAway {
  return { status, message, headers }
}

/** In a time that says nothing about how much of it is right. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest())
  return timingSafeEqual(a as Buffer, b as Buffer)
}
