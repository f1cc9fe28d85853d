import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Cookies } from '../cookies.ts'
import { limitFailures } from './failure-limit-guard.ts'
import { setRateLimitHeaders } from './rate-limit-headers.ts'
import { applyState, clientOf, type RateLimitRule, type RuleContext } from './rate-limit-rule.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { rateLimitsOf } from './rate-limits.ts'
import { hooksOf, type RouteInfo, routeInfoOf } from './route-info.ts'

/**
 * Every route registered after this call rejects requests over a limit with 429 before it does
 * any work for them.
 * @param rateLimiter null: nothing is limited
 * @param cookies reads the session cookie
 */
export function limitRates(
  app: FastifyInstance,
  rateLimiter: RateLimiter | null,
  cookies: Cookies,
): void {
  if (rateLimiter === null) return
  app.decorateRequest('limits', null)
  app.decorateRequest('attempts', null)
  app.addHook('onRoute', (route) => {
    const rules = rulesOf(rateLimiter, routeInfoOf(route))
    if (rules.length > 0) limitRoute(route, { rateLimiter, cookies }, rules)
  })
}

/** Whether a route can answer 429. */
export function isLimited(rateLimiter: RateLimiter | null, route: RouteInfo): boolean {
  return rateLimiter !== null && rulesOf(rateLimiter, route).length > 0
}

function rulesOf(rateLimiter: RateLimiter, route: RouteInfo): RateLimitRule[] {
  return rateLimitsOf(route).flatMap((limit) => {
    const rate = rateLimiter.rateOf(limit)
    return rate === null ? [] : [{ limit, rate }]
  })
}

function limitRoute(
  route: RouteOptions,
  context: RuleContext,
  rules: readonly RateLimitRule[],
): void {
  const failures = rules.filter(({ limit }) => limit.counts === 'failures')
  if (failures.length > 0) limitFailures(route, context, failures)
  const beforeBody = rules.filter(({ limit }) => limit.by !== 'token')
  // The claim token is in the body.
  const afterBody = rules.filter(({ limit }) => limit.by === 'token')
  const check = (some: readonly RateLimitRule[]) => async (request: FastifyRequest) => {
    for (const rule of some) await assertWithinLimit(context, rule, request)
  }
  route.onRequest = [...hooksOf(route.onRequest), check(beforeBody) as never]
  if (afterBody.length > 0)
    route.preHandler = [check(afterBody) as never, ...hooksOf(route.preHandler)]
  const setHeaders = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    setRateLimitHeaders(request, reply)
    return payload
  }
  route.onSend = [...hooksOf(route.onSend), setHeaders as never]
}

/** @throws CodedError RATE_LIMITED */
async function assertWithinLimit(
  context: RuleContext,
  rule: RateLimitRule,
  request: FastifyRequest,
): Promise<void> {
  const client = clientOf(context, rule, request)
  if (client === null) return
  const { rateLimiter } = context
  const { limit, rate } = rule
  // Whether this request fails is not known yet: only read the quota of failures.
  const state = await (limit.counts === 'failures'
    ? rateLimiter.peek(limit, rate, client)
    : rateLimiter.take(limit, rate, client))
  const error = applyState(context, rule, request, state)
  if (error !== null) throw error
}
