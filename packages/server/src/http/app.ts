import type { ClaimRequest, Did, VerifyRequest, VerifyResponse } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import type { ReadDeps } from '../domain/find-agent.ts'
import type { OwnerDeps } from '../domain/owner-deps.ts'
import { answerPlainLookups } from './ahead-of-router.ts'
import { type App, type BareAppDeps, bareApp } from './bare-app.ts'
import { handleErrors } from './error-handler.ts'
import { greet } from './greet.ts'
import { parseJsonStrictly } from './json-body.ts'
import { MethodGuard } from './methods.ts'
import { countRequests, type RequestMetrics } from './metrics.ts'
import { collectOpenApi, type OpenApiDeps, serveDocs, serveOpenApi } from './openapi.ts'
import { serveOwners } from './owner/serve-owners.ts'
import { agentRoute } from './routes/agent.ts'
import { avatarRoute } from './routes/avatar.ts'
import { cardRoute } from './routes/card.ts'
import { certificateRoute } from './routes/certificate.ts'
import { claimRoute } from './routes/claim.ts'
import { compactCardRoute } from './routes/compact-card.ts'
import { didJsonRoute } from './routes/did-json.ts'
import { healthRoutes } from './routes/health.ts'
import { identifyRoute } from './routes/identify.ts'
import { lookupRoute } from './routes/lookup.ts'
import { verifyRoute } from './routes/verify.ts'

export interface AppDeps extends Omit<BareAppDeps, 'aheadOfRouter'> {
  readonly read: ReadDeps
  readonly claim: (request: ClaimRequest) => Promise<Did>
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
  readonly isReady: () => boolean
  readonly isDraining: () => boolean
  readonly metrics: RequestMetrics
  readonly openapi: OpenApiDeps
  readonly owners: OwnerDeps
}

/** The HTTP side of the service, ready to listen. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = bareApp({ ...deps, aheadOfRouter: answerPlainLookups(deps) })
  const guard = new MethodGuard(app)
  parseJsonStrictly(app)
  handleErrors(app)
  app.addHook('onRequest', greet(deps.isDraining))
  countRequests(app, deps.metrics)
  await collectOpenApi(app, deps.openapi)
  registerRoutes(app, deps)
  await serveOwners(app, deps.owners)
  serveOpenApi(app)
  guard.refuseOthers(app)
  await serveDocs(app, deps.openapi.serviceName)
  return app as unknown as FastifyInstance
}

function registerRoutes(app: App, deps: AppDeps): void {
  const { naming } = deps.read.site
  lookupRoute(app, deps.read)
  verifyRoute(app, { naming, verify: deps.verify })
  claimRoute(app, { naming, claim: deps.claim })
  identifyRoute(app, deps.read)
  cardRoute(app, deps.read)
  compactCardRoute(app, deps.read)
  agentRoute(app, deps.read)
  avatarRoute(app, deps.read)
  didJsonRoute(app, deps.read)
  certificateRoute(app, deps.read)
  healthRoutes(app, deps.isReady)
}
