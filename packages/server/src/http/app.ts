import type { ClaimRequest, Did, VerifyRequest, VerifyResponse } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import type { ReadDeps } from '../domain/find-agent.ts'
import type { OwnerDeps } from '../domain/owner-deps.ts'
import { answerPlainLookups } from './ahead-of-router.ts'
import { type App, type BareAppDeps, bareApp } from './bare-app.ts'
import { serveDashboard } from './dashboard.ts'
import { apiModel } from './docs/api-model.ts'
import { once } from './docs/docs-side.ts'
import { openLibrary } from './docs/library.ts'
import { handleErrors, routerErrorsTo } from './error-handler.ts'
import { greet } from './greet.ts'
import { parseJsonStrictly } from './json-body.ts'
import { MethodGuard } from './methods.ts'
import { countRequests, type RequestMetrics } from './metrics/request-metrics.ts'
import { collectOpenApi, type OpenApiDeps, serveOpenApi } from './openapi.ts'
import { guardAgainstOverload } from './overload/guard.ts'
import type { Overload } from './overload/overload.ts'
import { Cookies } from './owner/cookies.ts'
import { serveOwners } from './owner/serve-owners.ts'
import { loadPages, type Pages } from './pages/load.ts'
import { servePages } from './pages/serve-pages.ts'
import { isLimited, limitRates } from './rate-limit/guard.ts'
import type { Limiter } from './rate-limit/limiter.ts'
import { agentRoute } from './routes/agent.ts'
import { avatarRoute, givenAvatarRoute } from './routes/avatar.ts'
import { cardRoute } from './routes/card.ts'
import { claimRoute } from './routes/claim.ts'
import { compactCardRoute } from './routes/compact-card.ts'
import { didJsonRoute } from './routes/did-json.ts'
import { docsRoutes } from './routes/docs.ts'
import { gradeRoute } from './routes/grade.ts'
import { type HealthDeps, healthRoutes } from './routes/health.ts'
import { identifyRoute } from './routes/identify.ts'
import { webhookRoute } from './routes/identity/webhook.ts'
import { lookupRoute } from './routes/lookup.ts'
import { type RuntimeRouteDeps, runtimeRoutes } from './routes/runtime.ts'
import { skillRoutes } from './routes/skill.ts'
import { verifyRoute } from './routes/verify.ts'

export interface AppDeps extends Omit<BareAppDeps, 'aheadOfRouter' | 'answerRouterError'> {
  readonly read: ReadDeps
  readonly claim: (request: ClaimRequest) => Promise<Did>
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
  readonly runtime: RuntimeRouteDeps
  readonly isReady: () => boolean
  readonly vouches: HealthDeps['vouches']
  readonly reportDatabase: HealthDeps['reportDatabase']
  readonly isDraining: () => boolean
  readonly metrics: RequestMetrics
  readonly overload: Overload
  /** The preview `rate-limit`; null where it is off. */
  readonly limiter: Limiter | null
  readonly openapi: OpenApiDeps
  readonly owners: OwnerDeps
  /** Where the built dashboard is. */
  readonly dashboardDir: string
  /** Where the built public pages are. */
  readonly pagesDir: string
  /** Where the built documentation is. */
  readonly docsDir: string
  /** The preview of that name: cards as text and HTML too. */
  readonly cardFormats: boolean
}

/** The HTTP side of the service, ready to listen. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const { serviceName } = deps.openapi
  const pages = await loadPages({ serviceName, site: deps.read.site, dir: deps.pagesDir })
  const app = bareApp({
    ...deps,
    // There nothing is counted, and no line is written.
    aheadOfRouter: isPlainEnough(deps) ? answerPlainLookups(deps) : () => false,
    answerRouterError: routerErrorsTo(pages),
  })
  const guard = new MethodGuard(app)
  parseJsonStrictly(app)
  handleErrors(app, pages)
  app.addHook('onRequest', greet(deps.isDraining, guard))
  countRequests(app, deps.metrics)
  await collectOpenApi(app, deps.openapi, (route) => isLimited(deps.limiter, route))
  guardAgainstOverload(app as unknown as FastifyInstance, deps.overload)
  limitRates(app as unknown as FastifyInstance, deps.limiter, new Cookies(deps.openapi.baseUrl))
  registerRoutes(app, deps, pages)
  await servePages(app, {
    read: { ...deps.read, db: deps.owners.db.read },
    pages,
    verify: deps.verify,
    room: deps.overload.rooms.previews,
  })
  await serveOwners(app, deps.owners)
  await webhookRoute(app, deps.owners)
  const { site, providers } = deps.owners
  await serveDashboard(app, { baseUrl: site.baseUrl, providers, dir: deps.dashboardDir })
  serveOpenApi(app)
  serveDocs(app, deps, pages)
  guard.finish(app)
  return app as unknown as FastifyInstance
}

/** Whether a request asks for nothing on its way but the answer. */
function isPlainEnough({ limiter, log }: AppDeps): boolean {
  return limiter === null && !log.isLevelEnabled('debug')
}

/** The documentation, whose HTTP reference is made of the schemas of all routes. */
function serveDocs(app: App, { openapi, docsDir }: AppDeps, pages: Pages): void {
  const library = openLibrary(docsDir, openapi)
  const api = once(() => apiModel(app.swagger() as never, openapi))
  docsRoutes(app, { library, pages, api })
  skillRoutes(app, { library, pages, api })
}

function registerRoutes(app: App, deps: AppDeps, pages: Pages): void {
  const { naming } = deps.read.site
  lookupRoute(app, deps.read)
  verifyRoute(app, { naming, verify: deps.verify })
  claimRoute(app, { naming, claim: deps.claim })
  runtimeRoutes(app, naming, deps.runtime)
  identifyRoute(app, deps.read)
  const cardPages = deps.cardFormats ? pages : null
  cardRoute(app, deps.read, cardPages)
  gradeRoute(app, { ...deps.read, db: deps.owners.db.read })
  compactCardRoute(app, deps.read, cardPages)
  agentRoute(app, deps.read)
  avatarRoute(app, deps.read)
  givenAvatarRoute(app, { ...deps.read, db: deps.owners.db })
  didJsonRoute(app, deps.read)
  healthRoutes(app, deps)
}
