import { openingsSchema } from '@countersign/protocol'
import { forApiKeys, type OwnerRouteContext, ownerSchema } from '../accounts/owners/owner-routes.ts'
import { OWN_AGENT, ownAgentParam } from '../agents/find-agent.ts'
import type { App } from '../http/server.ts'
import { fromOf, fromQuery } from './log-routes.ts'
import { listOpenings } from './openings.ts'

/** Registers the route by which owners download what the commitments about their agents open to. */
export function openingRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.get(`${OWN_AGENT}/log`, {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'agentLogOpenings',
      summary: 'What the commitments of the transparency log about an agent open to',
      params: ownAgentParam(),
      querystring: fromQuery(),
      response: { 200: openingsSchema(deps.site.naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listOpenings(deps, ownerId, request.params.agent, fromOf(request.query))
    },
  })
}
