import type { ClaimRequest, Did, VerifyRequest, VerifyResponse } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import type { ReadDeps } from '../domain/find-agent.ts'
import type { OwnerDeps } from '../domain/owner-deps.ts'
import { answerPlainLookups } from './ahead-of-router.ts'
import { type App, type BareAppDeps, bareApp } from './bare-app.ts'
import { serveDashboard } from './dashboard.ts'
import { handleErrors, routerErrorsTo } from './error-handler.ts'
import { greet } from './greet.ts'
import { parseJsonStrictly } from './json-body.ts'
import { MethodGuard } from './methods.ts'
import { countRequests, type RequestMetrics } from './metrics.ts'
import { collectOpenApi, type OpenApiDeps, serveDocs, serveOpenApi } from './openapi.ts'
import { serveOwners } from './owner/serve-owners.ts'
import { loadPages } from './pages/load.ts'
import { servePages } from './pages/serve-pages.ts'
import { agentRoute } from './routes/agent.ts'
import { avatarRoute, givenAvatarRoute } from './routes/avatar.ts'
import { cardRoute } from './routes/card.ts'
import { claimRoute } from './routes/claim.ts'
import { compactCardRoute } from './routes/compact-card.ts'
import { didJsonRoute } from './routes/did-json.ts'
import { gradeRoute } from './routes/grade.ts'
import { healthRoutes } from './routes/health.ts'
import { identifyRoute } from './routes/identify.ts'
import { webhookRoute } from './routes/identity/webhook.ts'
import { lookupRoute } from './routes/lookup.ts'
import { verifyRoute } from './routes/verify.ts'

export interface AppDeps extends Omit<BareAppDeps, 'aheadOfRouter' | 'answerRouterError'> {
  readonly read: ReadDeps
  readonly claim: (request: ClaimRequest) => Promise<Did>
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
  readonly isReady: () => boolean
  readonly isDraining: () => boolean
  readonly metrics: RequestMetrics
  readonly openapi: OpenApiDeps
  readonly owners: OwnerDeps
  /** Where the built dashboard is. */
  readonly dashboardDir: string
  /** Where the built public pages are. */
  readonly pagesDir: string
}

/** The HTTP side of the service, ready to listen. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const { serviceName } = deps.openapi
  const pages = await loadPages({ serviceName, site: deps.read.site, dir: deps.pagesDir })
  const app = bareApp({
    ...deps,
    aheadOfRouter: answerPlainLookups(deps),
    answerRouterError: routerErrorsTo(pages),
  })
  const guard = new MethodGuard(app)
  parseJsonStrictly(app)
  handleErrors(app, pages)
  app.addHook('onRequest', greet(deps.isDraining))
  countRequests(app, deps.metrics)
  await collectOpenApi(app, deps.openapi)
  registerRoutes(app, deps)
  await servePages(app, {
    read: { ...deps.read, db: deps.owners.db.read },
    pages,
    verify: deps.verify,
  })
  await serveOwners(app, deps.owners)
  await webhookRoute(app, deps.owners)
  const { site, providers } = deps.owners
  await serveDashboard(app, { baseUrl: site.baseUrl, providers, dir: deps.dashboardDir })
  serveOpenApi(app)
  guard.refuseOthers(app)
  await serveDocs(app, serviceName)
  return app as unknown as FastifyInstance
}

function registerRoutes(app: App, deps: AppDeps): void {
  const { naming } = deps.read.site
  lookupRoute(app, deps.read)
  verifyRoute(app, { naming, verify: deps.verify })
  claimRoute(app, { naming, claim: deps.claim })
  identifyRoute(app, deps.read)
  cardRoute(app, deps.read)
  gradeRoute(app, deps.read)
  compactCardRoute(app, deps.read)
  agentRoute(app, deps.read)
  avatarRoute(app, deps.read)
  givenAvatarRoute(app, { ...deps.read, db: deps.owners.db })
  didJsonRoute(app, deps.read)
  healthRoutes(app, deps.isReady)
}
