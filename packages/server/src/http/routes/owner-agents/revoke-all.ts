import { revokeAllRequestSchema, revokedSchema } from '@countersign/protocol'
import { revokeAll } from '../../../domain/owner-agents/revoke-all.ts'
import type { App } from '../../bare-app.ts'
import { type OwnerSide, ownerSchema } from '../../owner/owner-side.ts'

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
