import { emptyBody, sessionSchema } from '@countersign/protocol'
import { type OwnerRouteContext, ownerSchema } from '../../accounts/owners/owner-routes.ts'
import { endSession } from '../../accounts/owners/session.ts'
import type { App } from '../../http/server.ts'
import { type SessionStateDeps, sessionState } from './session-state.ts'

/** Registers the routes for the session state and for signing out. */
export function sessionRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<SessionStateDeps>,
): void {
  app.get('/api/session', {
    schema: ownerSchema({
      operationId: 'session',
      summary: 'The session and the sign-in methods',
      response: { 200: sessionSchema() },
    }),
    handler: async (request) => sessionState(deps, await authenticator.findSession(request)),
  })

  app.post('/api/session/end', {
    schema: ownerSchema({
      operationId: 'signOut',
      summary: 'Sign out',
      body: emptyBody(),
      response: { 204: { type: 'null', description: 'Signed out' } },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.findSession(request)
      if (session !== null) await endSession(deps, session)
      authenticator.clearCookie(reply)
      return reply.code(204).send(null as never)
    },
  })
}
