import { CodedError } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { providerParam } from '../providers/provider-param.ts'
import { unverifyOwner } from './record-verification.ts'

/** Also for providers that the host has taken away since. */
export function removeRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.delete('/api/identity/:provider', {
    schema: ownerSchema({
      operationId: 'removeVerification',
      summary: 'Remove a verification, at once; needs a recent sign-in',
      params: providerParam(),
      response: { 204: { type: 'null', description: 'Removed' } },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.requireRecent(request)
      if (!(await unverifyOwner(deps, ownerId, request.params.provider))) {
        throw new CodedError('NOT_FOUND', 'You are not verified by this identity provider.')
      }
      return reply.code(204).send(null as never)
    },
  })
}
