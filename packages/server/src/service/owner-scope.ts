import { CodedError } from '@countersign/protocol'
import cookie from '@fastify/cookie'
import type { FastifyRequest } from 'fastify'
import { identityRoutes } from '../accounts/identity/identity-routes.ts'
import type { NotificationDeps } from '../accounts/notifications/notification-deps.ts'
import { notificationRoutes } from '../accounts/notifications/notification-routes.ts'
import { accountRoutes } from '../accounts/owners/account-routes.ts'
import { apiKeyRoutes } from '../accounts/owners/api-key-routes.ts'
import { type OwnersPart, rejectCrossOrigin, SignedIn } from '../accounts/owners/owner-routes.ts'
import { signInRoutes } from '../accounts/owners/sign-in-routes.ts'
import { channelsOfActiveAgents } from '../agents/active-agents.ts'
import { issueTokenRoutes } from '../agents/claims/claim-routes.ts'
import type { KeyReuse } from '../agents/keys/key-use.ts'
import { ownKeyRoutes } from '../agents/keys/own-key-routes.ts'
import { ownAgentRoutes } from '../agents/manage/own-agent-routes.ts'
import { channelsRoutes } from '../channels/channel-routes.ts'
import type { CountersignDeps } from '../channels/countersign-card.ts'
import { Cookies } from '../http/cookies.ts'
import type { App } from '../http/server.ts'
import { openingRoutes } from '../log/opening-routes.ts'
import type { BroadcasterDeps } from '../pages/dashboard/agent-event-broadcaster.ts'
import { sessionRoutes } from '../pages/dashboard/session-routes.ts'
import { streamRoute } from '../pages/dashboard/stream-routes.ts'
import { grantIssuerRoutes } from '../statements/grants/grant-routes.ts'
import { deletionRoute, exportRoute } from './privacy/privacy-routes.ts'

export type OwnerScopeDeps = NotificationDeps &
  CountersignDeps &
  BroadcasterDeps & { readonly keyReuse: KeyReuse; readonly recoveryDelayMs: number }

/** Registers the owners' API: cookies, protection against cross-site requests, and no caching. */
export async function serveOwners(
  app: App,
  deps: OwnerScopeDeps,
  parts: readonly OwnersPart[],
): Promise<void> {
  const cookies = new Cookies(deps.site.baseUrl)
  const context = { deps, cookies, signedIn: new SignedIn(deps, cookies) }
  await app.register(async (scope) => {
    await scope.register(cookie)
    scope.addHook('onRequest', rejectCrossOrigin(deps.site.baseUrl))
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.header('cache-control', 'no-store')
      done()
    })
    scope.addHook('preHandler', rejectNulInIds)
    const owners = scope.withTypeProvider() as unknown as App
    sessionRoutes(owners, context)
    signInRoutes(owners, context)
    accountRoutes(owners, context)
    apiKeyRoutes(owners, context)
    for (const part of parts) part.ownerRoutes?.(owners, context)
    grantIssuerRoutes(owners, context)
    exportRoute(owners, context)
    deletionRoute(owners, context)
    notificationRoutes(owners, context)
    identityRoutes(owners, { ...context, deps: { ...deps, channelsOfActiveAgents } })
    issueTokenRoutes(owners, context)
    ownAgentRoutes(owners, context)
    ownKeyRoutes(owners, context)
    openingRoutes(owners, context)
    streamRoute(owners, context)
    channelsRoutes(owners, context)
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
