import cookie from '@fastify/cookie'
import { ownerAgentRoutes } from '../agent-management/owner-agents-index-routes.ts'
import { channelsRoutes } from '../channels/channels-index-routes.ts'
import type { OwnerDeps } from '../core/deps.ts'
import { Cookies } from '../core/http/cookies.ts'
import type { App } from '../core/http/server.ts'
import { identityRoutes } from '../identity/identity-index-routes.ts'
import { accountRoutes } from '../owners/account-index-routes.ts'
import { requireSameOrigin } from '../owners/same-origin.ts'
import { signInRoutes } from '../owners/sign-in-index-routes.ts'
import { SignedIn } from '../owners/signed-in.ts'
import { refuseImpossibleIds } from './known-ids.ts'

/** Everything that owners do in a browser, or with nothing but fetch: one cookie, one rule against forgery, no cache. */
export async function serveOwners(app: App, deps: OwnerDeps): Promise<void> {
  const cookies = new Cookies(deps.site.baseUrl)
  const side = { deps, cookies, signedIn: new SignedIn(deps, cookies) }
  await app.register(async (scope) => {
    await scope.register(cookie)
    scope.addHook('onRequest', requireSameOrigin(deps.site.baseUrl))
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store')
      done()
    })
    scope.addHook('preHandler', refuseImpossibleIds)
    const owners = scope.withTypeProvider() as unknown as App
    signInRoutes(owners, side)
    accountRoutes(owners, side)
    identityRoutes(owners, side)
    ownerAgentRoutes(owners, side)
    channelsRoutes(owners, side)
  })
}
