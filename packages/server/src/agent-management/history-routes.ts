import { historySchema } from '@countersign/protocol'
import { Type } from 'typebox'
import { OWN_AGENT, ownAgentParam } from '../agents/own-agent-param.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { historyOf } from './history.ts'

/** What happened to an agent. */
export function historyRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.get(`${OWN_AGENT}/history`, {
    schema: ownerSchema({
      operationId: 'agentHistory',
      summary: 'What happened to an agent, newest first',
      params: ownAgentParam(),
      querystring: Type.Object(
        { before: Type.Optional(Type.String({ pattern: '^\\d{1,15}$' })) },
        { additionalProperties: false },
      ),
      response: { 200: historySchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.require(request)
      const { before } = request.query
      return historyOf(deps, ownerId, request.params.agent, before ? Number(before) : null)
    },
  })
}
