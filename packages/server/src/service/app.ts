import type { FastifyInstance } from 'fastify'
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
import type { Part } from '../http/part.ts'
import { type AheadOfRouter, type BareAppDeps, bareApp } from '../http/server.ts'
import type { Pages } from '../pages/load-pages.ts'
import { type HealthDeps, healthRoutes } from './health-routes.ts'

export interface AppDeps
  extends Omit<BareAppDeps, 'aheadOfRouter' | 'answerRouterError'>,
    HealthDeps {
  readonly parts: readonly Part[]
  readonly isDraining: () => boolean
  readonly metrics: RequestMetrics
  readonly loadShedder: LoadShedder
  /** Null if no rate limit applies. */
  readonly rateLimiter: RateLimiter | null
  readonly pages: Pages
}

/** Creates the HTTP app with all routes, ready to listen. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const { parts, pages, loadShedder, rateLimiter } = deps
  const { baseUrl } = pages.context.site
  const failurePage: FailurePage = {
    baseUrl,
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
  shedLoad(app as unknown as FastifyInstance, loadShedder)
  limitRates(app as unknown as FastifyInstance, rateLimiter, new Cookies(baseUrl))
  for (const part of parts) await part.routes?.(app)
  healthRoutes(app, deps)
  guard.finish(app)
  return app as unknown as FastifyInstance
}

function aheadOfRouter(deps: AppDeps): AheadOfRouter {
  const answers = deps.parts
    .flatMap(({ ahead = [] }) => ahead)
    .filter(({ route }) => canBypassRouter(deps, route))
    .map((each) => each.open())
  answers.push(rejectFlood(deps.loadShedder))
  return (request, response) => answers.some((answer) => answer(request, response))
}

/** Whether plain requests may skip the router, whose hooks apply rate limits and log requests. */
function canBypassRouter({ rateLimiter, log }: AppDeps, route: RouteInfo): boolean {
  return !isLimited(rateLimiter, route) && !log.isLevelEnabled('debug')
}
