import { ownerAgentSchema, ownerAgentsQuerySchema, ownerAgentsSchema } from '@countersign/protocol'
import { OWN_AGENT, ownAgentParam } from '../agents/own-agent-param.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { listAgents } from './list-agents.ts'
import { showOwnAgent } from './own-agent.ts'

/** The agents of the owner, and one of them. */
export function listRoutes(app: App, { deps, signedIn }: OwnerSide): void {
  const { naming } = deps.site
  app.get('/api/account/agents', {
    schema: ownerSchema({
      operationId: 'ownerAgents',
      summary: 'The agents of the owner, newest first',
      querystring: ownerAgentsQuerySchema(),
      response: { 200: ownerAgentsSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.require(request)
      return listAgents(deps, ownerId, request.query)
    },
  })

  app.get(OWN_AGENT, {
    schema: ownerSchema({
      operationId: 'ownerAgent',
      summary: 'An agent of the owner',
      params: ownAgentParam(),
      response: { 200: ownerAgentSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.require(request)
      return showOwnAgent(deps, ownerId, request.params.agent)
    },
  })
}
