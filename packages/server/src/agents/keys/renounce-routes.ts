import {
  errorSchema,
  type Naming,
  type Renounced,
  type RenounceRequest,
  renouncedSchema,
  renounceRequestSchema,
} from '@countersign/protocol'
import type { App } from '../../http/server.ts'
import { ownAgentParam } from '../find-agent.ts'

export interface RenounceRouteDeps {
  readonly naming: Naming
  readonly renounce: (reference: string, request: RenounceRequest) => Promise<Renounced>
}

/** The route by which an agent gives up its certificate. The signature alone authenticates it. No CORS: agents call it, not web pages. */
export function renounceRoute(app: App, { naming, renounce }: RenounceRouteDeps): void {
  app.post('/api/v1/agent/:agent/renounce', {
    schema: {
      operationId: 'renounce',
      summary: "Revoke a certificate permanently, with the agent's own key",
      tags: ['claim'],
      params: ownAgentParam(),
      body: renounceRequestSchema(),
      response: { 200: renouncedSchema(naming), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return renounce(request.params.agent, request.body)
    },
  })
}
