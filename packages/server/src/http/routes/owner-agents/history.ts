import { historySchema } from '@countersign/protocol'
import { Type } from 'typebox'
import { historyOf } from '../../../domain/owner-agents/history.ts'
import type { App } from '../../bare-app.ts'
import { type OwnerSide, ownerSchema } from '../../owner/owner-side.ts'
import { OWN_AGENT, ownAgentParam } from './agent-reference.ts'

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
