import cookie from '@fastify/cookie'
import type { OwnerDeps } from '../../domain/owner-deps.ts'
import type { App } from '../bare-app.ts'
import { accountRoutes } from '../routes/account/index.ts'
import { channelsRoutes } from '../routes/channels/index.ts'
import { identityRoutes } from '../routes/identity/index.ts'
import { ownerAgentRoutes } from '../routes/owner-agents/index.ts'
import { signInRoutes } from '../routes/sign-in/index.ts'
import { Cookies } from './cookies.ts'
import { refuseImpossibleIds } from './known-ids.ts'
import { requireSameOrigin } from './same-origin.ts'
import { SignedIn } from './signed-in.ts'

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
