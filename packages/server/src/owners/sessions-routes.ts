import { Type } from 'typebox'
import type { App } from '../core/http/server.ts'
import { nothing, type OwnerSide, ownerSchema } from './owner-route-context.ts'
import { endOneSession, endOtherSessions } from './sessions.ts'

export function accountSessionRoutes(app: App, { deps, signedIn }: OwnerSide): void {
  app.delete('/api/account/sessions/:id', {
    schema: ownerSchema({
      operationId: 'endSession',
      summary: 'End one session',
      params: Type.Object({ id: Type.String({ description: 'as the account lists it' }) }),
      response: { 204: nothing('Ended') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.require(request)
      await endOneSession(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })

  app.delete('/api/account/sessions', {
    schema: ownerSchema({
      operationId: 'endOtherSessions',
      summary: 'End every session but this one; needs a recent sign-in',
      response: { 204: nothing('Ended') },
    }),
    handler: async (request, reply) => {
      await endOtherSessions(deps, await signedIn.requireRecent(request))
      return reply.code(204).send(null as never)
    },
  })
}
