import { revokeAllRequestSchema, revokedSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { revokeAll } from './revoke-all.ts'

/** The way out when everything is lost. */
export function revokeAllRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.post('/api/account/agents/revoke-all', {
    schema: ownerSchema({
      operationId: 'revokeAllAgents',
      summary: 'End the certificates of all agents, for good; needs a recent sign-in',
      body: revokeAllRequestSchema(),
      response: { 200: revokedSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.requireRecent(request)
      const { username, reason = null } = request.body
      return { revokedAgents: await revokeAll(deps, ownerId, username, reason) }
    },
  })
}
