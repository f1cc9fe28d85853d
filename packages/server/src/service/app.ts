import type {
  ClaimRequest,
  Did,
  SignedRequest,
  SignedRequestVerdict,
  VerifyRequest,
  VerifyResponse,
} from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import { providerWebhookRoute } from '../accounts/identity/provider-webhook-routes.ts'
import type { OwnersPart } from '../accounts/owners/owner-routes.ts'
import { agentRoute, didJsonRoute, gradeRoute } from '../agents/agent-routes.ts'
import { avatarRoute, uploadedAvatarRoute } from '../agents/avatar-routes.ts'
import { cardRoute, compactCardRoute } from '../agents/card-routes.ts'
import { claimRoute } from '../agents/claims/claim-routes.ts'
import { clientMetadataRoute } from '../agents/client-metadata-routes.ts'
import type { ReadDeps } from '../agents/find-agent.ts'
import { agentsOfKeyRoute } from '../agents/keys/agents-of-key-routes.ts'
import {
  type KeyRouteDeps,
  keyHistoryRoute,
  keyRoutes,
  type RenounceRouteDeps,
  renounceRoute,
} from '../agents/keys/key-routes.ts'
import {
  type DirectoryProofRouteDeps,
  directoryProofRoute,
  keySetRoute,
} from '../agents/keys/key-set-routes.ts'
import {
  answerPlainLookups,
  identifyRoute,
  LOOKUP_URL,
  lookupRoute,
} from '../agents/lookup-routes.ts'
import { verifyRequestRoute, verifyRoute } from '../agents/verification/verify-routes.ts'
import { PACKAGES_DIR } from '../base/packages.ts'
import { cardKeySetRoute } from '../channels/card-key-set-routes.ts'
import { type RuntimeRouteDeps, runtimeRoutes } from '../channels/runtime-routes.ts'
import { Cookies } from '../http/cookies.ts'
import { earlyChecks } from '../http/early-checks.ts'
import {
  type FailurePage,
  registerErrorHandlers,
  routerErrorHandler,
} from '../http/error-handler.ts'
import { honourIfMatch } from '../http/if-match.ts'
import { parseJsonStrictly } from '../http/json-body.ts'
import type { LoadShedder } from '../http/limits/concurrency-limiter.ts'
import { shedLoad } from '../http/limits/load-shedding.ts'
import { isLimited, limitRates } from '../http/limits/rate-limit-guard.ts'
import type { RateLimiter } from '../http/limits/rate-limiter.ts'
import { rejectFlood } from '../http/limits/reject-flood.ts'
import type { RouteInfo } from '../http/limits/route-info.ts'
import { MethodGuard } from '../http/method-guard.ts'
import { countRequests, type RequestMetrics } from '../http/metrics/request-metrics.ts'
import { type AheadOfRouter, type App, type BareAppDeps, bareApp } from '../http/server.ts'
import { logRoutes } from '../log/log-routes.ts'
import type { LoggedKeys } from '../log/read-log.ts'
import type { TransparencyLog } from '../log/transparency-log.ts'
import type { VerifySignedRequest } from '../pages/check-request.ts'
import { serveDashboard } from '../pages/dashboard/dashboard-routes.ts'
import { developmentMailRoute } from '../pages/development-mail-routes.ts'
import { docsRoutes, skillRoutes } from '../pages/docs/docs-routes.ts'
import type { Library } from '../pages/docs/library.ts'
import { emailLinkRoutes } from '../pages/email-link-routes.ts'
import { loadPages, type Pages } from '../pages/load.ts'
import { packageRoutes } from '../pages/package-routes.ts'
import { servePages } from '../pages/page-routes.ts'
import type { IssuerKeys } from '../secrets/issuer-keys/issuer-keys.ts'
import {
  answerPlainCertificates,
  CERTIFICATE_URL,
  certificateRoutes,
  issuerKeyRoutes,
} from '../statements/certificates/certificate-routes.ts'
import type { Issuer } from '../statements/certificates/issue.ts'
import {
  type GrantRouteDeps,
  grantRoute,
  issuerMetadataRoutes,
} from '../statements/grants/grant-routes.ts'
import type { Status } from '../statements/status-lists/open-status.ts'
import {
  feedRoute,
  snapshotRoute,
  statusListRoute,
} from '../statements/status-lists/status-routes.ts'
import { type ServiceDirectoryDeps, serviceDirectoryRoute } from './directory-routes.ts'
import { type HealthDeps, healthRoutes } from './health-routes.ts'
import { type OwnerScopeDeps, serveOwners } from './owner-scope.ts'

export interface AppDeps extends Omit<BareAppDeps, 'aheadOfRouter' | 'answerRouterError'> {
  readonly read: ReadDeps
  readonly claim: (request: ClaimRequest) => Promise<Did>
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
  readonly verifyRequest: (request: SignedRequest) => Promise<SignedRequestVerdict>
  readonly verifySignedRequest: VerifySignedRequest
  readonly runtime: RuntimeRouteDeps
  readonly renounce: RenounceRouteDeps['renounce']
  readonly proveDirectory: DirectoryProofRouteDeps['proveDirectory']
  readonly issueGrant: GrantRouteDeps['issueGrant']
  readonly directoryKey: ServiceDirectoryDeps['directoryKey']
  readonly issuerKeys: IssuerKeys
  readonly status: Pick<Status, 'heads' | 'feed' | 'tokens'>
  readonly issuer: Issuer
  readonly transparencyLog: TransparencyLog
  readonly parts: readonly OwnersPart[]
  readonly loggedKeys: LoggedKeys
  readonly keys: KeyRouteDeps
  readonly isReady: () => boolean
  readonly isFresh: HealthDeps['isFresh']
  readonly reportDatabase: HealthDeps['reportDatabase']
  readonly reportParts: HealthDeps['reportParts']
  readonly isDraining: () => boolean
  readonly metrics: RequestMetrics
  readonly loadShedder: LoadShedder
  /** Null if no rate limit applies. */
  readonly rateLimiter: RateLimiter | null
  readonly serviceName: string
  readonly owners: OwnerScopeDeps
  /** Directory of the built dashboard. */
  readonly dashboardDir: string
  /** Directory of the built public pages. */
  readonly pagesDir: string
  readonly library: Library
  /** The preview `card-formats`: cards as text and HTML as well. */
  readonly cardFormats: boolean
}

/** Creates the HTTP app with all routes, ready to listen. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const { serviceName } = deps
  const pages = await loadPages({ serviceName, site: deps.read.site, dir: deps.pagesDir })
  const failurePage: FailurePage = {
    baseUrl: deps.read.site.baseUrl,
    render: pages.isBuilt ? (failure) => pages.make.failurePage(pages.context, failure) : null,
  }
  const app = bareApp({
    ...deps,
    aheadOfRouter: aheadOfRouter(deps),
    answerRouterError: routerErrorHandler(failurePage),
  })
  const guard = new MethodGuard(app)
  honourIfMatch(app as unknown as FastifyInstance)
  parseJsonStrictly(app)
  registerErrorHandlers(app, failurePage)
  app.addHook('onRequest', earlyChecks(deps.isDraining, guard))
  countRequests(app, deps.metrics)
  shedLoad(app as unknown as FastifyInstance, deps.loadShedder)
  limitRates(
    app as unknown as FastifyInstance,
    deps.rateLimiter,
    new Cookies(deps.read.site.baseUrl),
  )
  registerRoutes(app, deps, pages)
  await servePages(app, {
    read: { ...deps.read, db: deps.owners.db.read },
    pages,
    verify: deps.verify,
    verifySignedRequest: deps.verifySignedRequest,
    challenges: deps.owners,
    loggedKeys: deps.loggedKeys,
    previewLimiter: deps.loadShedder.limiters.previews,
  })
  await emailLinkRoutes(app, { deps: deps.owners, pages })
  developmentMailRoute(app, { deps: deps.owners, pages })
  await serveOwners(app, deps.owners, deps.parts)
  await providerWebhookRoute(app, deps.owners)
  for (const part of deps.parts) await part.routes?.(app)
  const { site, providers } = deps.owners
  await serveDashboard(app, { baseUrl: site.baseUrl, providers, dir: deps.dashboardDir })
  packageRoutes(app, site.naming, PACKAGES_DIR)
  docsRoutes(app, { library: deps.library, pages, read: { ...deps.read, db: deps.owners.db.read } })
  skillRoutes(app, deps.library)
  guard.finish(app)
  return app as unknown as FastifyInstance
}

function aheadOfRouter(deps: AppDeps): AheadOfRouter {
  const answers = [
    ...(canBypassRouter(deps, LOOKUP_ROUTE) ? [answerPlainLookups(deps)] : []),
    ...(canBypassRouter(deps, CERTIFICATE_ROUTE) ? [answerPlainCertificates(deps)] : []),
    rejectFlood(deps.loadShedder),
  ]
  return (request, response) => answers.some((answer) => answer(request, response))
}

const LOOKUP_ROUTE = { operationId: 'lookup', url: LOOKUP_URL, method: 'GET' } as const
const CERTIFICATE_ROUTE = {
  ...{ operationId: 'agentCertificate', url: CERTIFICATE_URL },
  method: 'GET',
} as const

/** Whether plain requests may skip the router, whose hooks apply rate limits and log requests. */
function canBypassRouter({ rateLimiter, log }: AppDeps, route: RouteInfo): boolean {
  return !isLimited(rateLimiter, route) && !log.isLevelEnabled('debug')
}

function registerRoutes(app: App, deps: AppDeps, pages: Pages): void {
  const { naming } = deps.read.site
  lookupRoute(app, deps.read)
  verifyRoute(app, { naming, verify: deps.verify })
  verifyRequestRoute(app, { naming, verifyRequest: deps.verifyRequest })
  claimRoute(app, { naming, claim: deps.claim })
  runtimeRoutes(app, naming, deps.runtime)
  renounceRoute(app, { naming, renounce: deps.renounce })
  keyHistoryRoute(app, { ...deps.read, db: deps.owners.db })
  keyRoutes(app, naming, deps.keys)
  identifyRoute(app, deps.read)
  cardRoute(
    app,
    deps.read,
    deps.cardFormats
      ? (card, channels) => pages.make.cardSnippet(pages.context, card, channels)
      : null,
  )
  gradeRoute(app, { ...deps.read, db: deps.owners.db.read })
  compactCardRoute(
    app,
    deps.read,
    deps.cardFormats ? (card) => pages.make.compactCardSnippet(pages.context, card) : null,
  )
  agentRoute(app, deps.read)
  avatarRoute(app, deps.read)
  uploadedAvatarRoute(app, { ...deps.read, db: deps.owners.db })
  didJsonRoute(app, deps.read)
  keySetRoute(app, deps.read)
  clientMetadataRoute(app, deps.read)
  cardKeySetRoute(app, { ...deps.read, db: deps.owners.db.read, a2aKeys: deps.owners.a2aKeys })
  agentsOfKeyRoute(app, { db: deps.owners.db, site: deps.read.site })
  directoryProofRoute(app, { naming, proveDirectory: deps.proveDirectory })
  serviceDirectoryRoute(app, { ...deps.read, directoryKey: deps.directoryKey })
  statusListRoute(app, { site: deps.read.site, ...deps.status })
  snapshotRoute(app, { site: deps.read.site, ...deps.status })
  feedRoute(app, { site: deps.read.site, ...deps.status })
  certificateRoutes(app, { site: deps.read.site, issuer: deps.issuer })
  grantRoute(app, { issueGrant: deps.issueGrant, baseUrl: deps.read.site.baseUrl })
  issuerMetadataRoutes(app, {
    ...{ site: deps.read.site, issuerKeys: deps.issuerKeys },
    db: deps.owners.db.pointReads,
  })
  issuerKeyRoutes(app, { site: deps.read.site, issuerKeys: deps.issuerKeys })
  logRoutes(app, { ...deps.read, db: deps.owners.db, log: deps.transparencyLog })
  healthRoutes(app, deps)
}
