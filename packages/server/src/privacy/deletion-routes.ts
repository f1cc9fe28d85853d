import { deletionRequestSchema, revokedSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { deleteAccount } from './delete-account.ts'

/** The end of an account. */
export function deletionRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.post('/api/account/deletion', {
    schema: ownerSchema({
      operationId: 'deleteAccount',
      summary: 'Delete the account and revoke its agents, for good; needs a recent sign-in',
      body: deletionRequestSchema(),
      response: { 200: revokedSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.requireRecent(request)
      const revokedAgents = await deleteAccount(deps, ownerId, request.body.username)
      signedIn.forget(reply)
      return { revokedAgents }
    },
  })
}
