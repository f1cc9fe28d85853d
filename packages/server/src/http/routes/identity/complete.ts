import { verificationResultSchema, verificationSchema } from '@countersign/protocol'
import { completeVerification } from '../../../domain/identity/complete-verification.ts'
import { verificationBy } from '../../../domain/identity/overview.ts'
import { requireProvider } from '../../../domain/identity-providers.ts'
import { afterCommit } from '../../../domain/refusals.ts'
import type { App } from '../../bare-app.ts'
import { type OwnerSide, ownerSchema } from '../../owner/owner-side.ts'
import { providerParam } from './provider-param.ts'

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
