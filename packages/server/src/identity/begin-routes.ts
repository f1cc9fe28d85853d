import { emptyBody, verificationBegunSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { providerParam } from '../providers/provider-param.ts'
import { requireProvider } from '../providers/providers.ts'
import { beginVerification } from './begin-verification.ts'

export function beginRoute(app: App, { deps, cookies, signedIn }: OwnerSide): void {
  app.post('/api/identity/:provider/begin', {
    schema: ownerSchema({
      operationId: 'beginVerification',
      summary: 'Begin to verify who you are, or to renew it',
      params: providerParam(),
      body: emptyBody(),
      response: { 200: verificationBegunSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.require(request)
      const provider = requireProvider(deps.providers, request.params.provider)
      const { begun, token, lifetimeMs } = await beginVerification(deps, ownerId, provider)
      cookies.write(reply, 'flow', token, lifetimeMs / 1000)
      return begun
    },
  })
}
