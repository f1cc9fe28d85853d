import { agentPatchSchema, ownerAgentSchema } from '@countersign/protocol'
import { OWN_AGENT, ownAgentParam } from '../agents/own-agent-param.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { editProfile } from './edit-profile.ts'

/** What an agent is called and says of itself. */
export function editRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.patch(OWN_AGENT, {
    schema: ownerSchema({
      operationId: 'editAgent',
      summary: 'Change display name, username or description; null takes away',
      params: ownAgentParam(),
      body: agentPatchSchema(),
      response: { 200: ownerAgentSchema(deps.site.naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.require(request)
      return editProfile(deps, ownerId, request.params.agent, request.body)
    },
  })
}
