import { CodedError } from '@countersign/protocol'
import cookie from '@fastify/cookie'
import type { FastifyRequest } from 'fastify'
import type { MemberRequests } from '../accounts/owners/member-requests.ts'
import {
  type OwnersPart,
  RequestAuthenticator,
  refuseStrayOrganisation,
  rejectCrossOrigin,
  takeOrganisation,
} from '../accounts/owners/owner-routes.ts'
import type { CheckedWrites } from '../database/checked-writes.ts'
import { Cookies } from '../http/cookies.ts'
import type { App } from '../http/server.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'

interface OwnerScopeDeps extends Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'> {
  readonly writes: CheckedWrites
  readonly members: MemberRequests
}

/** Registers the owners' API: cookies, protection against cross-site requests, and no caching. */
export async function serveOwners(
  app: App,
  deps: OwnerScopeDeps,
  parts: readonly OwnersPart[],
): Promise<void> {
  const cookies = new Cookies(deps.site.baseUrl)
  const context = { cookies, authenticator: new RequestAuthenticator(deps, cookies, deps.members) }
  await app.register(async (scope) => {
    await scope.register(cookie)
    scope.addHook('onRequest', rejectCrossOrigin(deps.site.baseUrl))
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store')
      done()
    })
    scope.addHook('onRoute', takeOrganisation)
    scope.addHook('preHandler', rejectNulInIds)
    scope.addHook('preHandler', refuseStrayOrganisation)
    scope.addHook('preHandler', (_request, _reply, done) => deps.writes.run(done))
    const owners = scope.withTypeProvider() as unknown as App
    for (const part of parts) part.ownerRoutes?.(owners, context)
  })
}

/**
 * A hook that answers 404 for an id with U+0000, because PostgreSQL would fail on it. The parameter `agent` is exempt: its
 * format is validated by each route.
 */
function rejectNulInIds(
  { params }: FastifyRequest,
  _reply: unknown,
  done: (error?: Error) => void,
): void {
  const { agent: _validatedLater, ...ids } = params as Record<string, string>
  const hasNul = Object.values(ids).some((id) => id.includes('\0'))
  done(hasNul ? new CodedError('NOT_FOUND', 'There is nothing by this name.') : undefined)
}
