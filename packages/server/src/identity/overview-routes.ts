import { identitySchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { identityOverview } from './identity-overview.ts'

export function overviewRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.get('/api/identity', {
    schema: ownerSchema({
      operationId: 'identity',
      summary: 'Your verifications, what removing each would do, and the providers there are',
      response: { 200: identitySchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.require(request)
      return identityOverview(deps, ownerId)
    },
  })
}
