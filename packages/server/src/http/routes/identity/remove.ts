import { CodedError } from '@countersign/protocol'
import { unverifyOwner } from '../../../domain/verify-owner.ts'
import type { App } from '../../bare-app.ts'
import { type OwnerSide, ownerSchema } from '../../owner/owner-side.ts'
import { providerParam } from './provider-param.ts'

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
