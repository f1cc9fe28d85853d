import { verificationResultSchema, verificationSchema } from '@countersign/protocol'
import { afterCommit } from '../core/errors.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { providerParam } from '../providers/provider-param.ts'
import { requireProvider } from '../providers/providers.ts'
import { completeVerification } from './complete-verification.ts'
import { verificationBy } from './identity-overview.ts'

/** For providers whose own script runs in the browser, such as World ID. */
export function completeRoute(app: App, { deps, cookies, signedIn }: OwnerSide): void {
  app.post('/api/identity/:provider/complete', {
    schema: ownerSchema({
      operationId: 'completeVerification',
      summary: "Hand in what the provider's script gave the browser, unchanged",
      params: providerParam(),
      body: verificationResultSchema(),
      response: { 200: verificationSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.require(request)
      const provider = requireProvider(deps.providers, request.params.provider)
      const token = cookies.read(request, 'flow')
      cookies.clear(reply, 'flow')
      const input = { body: request.body.result }
      await completeVerification(deps, { ownerId, provider, token, input })
      return afterCommit(() => verificationBy(deps, ownerId, provider.id))
    },
  })
}
