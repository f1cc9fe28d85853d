import {
  errorSchema,
  type Grant,
  type GrantRequest,
  grantRequestSchema,
  grantSchema,
  type RawRequest,
} from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { ownAgentParam } from '../../agents/find-agent.ts'
import type { App } from '../../http/server.ts'

export interface GrantRouteDeps {
  readonly issueGrant: (
    reference: string,
    received: RawRequest,
    request: GrantRequest,
  ) => Promise<Grant>
  /** The service's own origin. */
  readonly baseUrl: string
}

/** The route by which an agent gets a grant. No CORS: agents call it, not web pages. */
export function grantRoute(app: App, { issueGrant, baseUrl }: GrantRouteDeps): void {
  app.post('/api/v1/agent/:agent/grant', {
    schema: {
      operationId: 'issueGrant',
      summary: 'Get a grant for an authorization server (RFC 7523); a signed request',
      tags: ['oauth'],
      params: ownAgentParam(),
      body: grantRequestSchema(),
      response: { 200: grantSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return issueGrant(request.params.agent, receivedOf(request, baseUrl), request.body)
    },
  })
}

/**
 * The request as the signer addressed it. Its authority is that of BASE_URL: behind a proxy, `Host` may be another one, and a
 * signature for another host fails in either case.
 */
function receivedOf(request: unknown, baseUrl: string): RawRequest {
  const { raw, rawBody } = request as FastifyRequest
  const { host, protocol } = new URL(baseUrl)
  const headers: [string, string][] = []
  for (let i = 0; i + 1 < raw.rawHeaders.length; i += 2) {
    const [name = '', value = ''] = raw.rawHeaders.slice(i, i + 2)
    if (name.toLowerCase() !== 'host') headers.push([name, value])
  }
  return {
    method: raw.method ?? '',
    scheme: protocol === 'https:' ? 'https' : 'http',
    authority: host,
    target: raw.url ?? '',
    headers,
    body: rawBody,
  }
}
