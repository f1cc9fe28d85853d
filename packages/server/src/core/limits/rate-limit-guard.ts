import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Cookies } from '../http/cookies.ts'
import { limitFailures } from './guard-failures.ts'
import { tellOfLimits } from './headers.ts'
import type { Limiter } from './limiter.ts'
import { limitsOf } from './limits.ts'
import type { RouteInfo } from './route-class.ts'
import { hooksOf, routeInfoOf } from './route-class.ts'
import { type Rule, type Ruler, refusalOf, whoIs } from './rule.ts'

/**
 * The preview `rate-limit`: refuses, of every route that is registered after it, what is over a limit, before anything has been
 * done for it.
 * @param limiter null: nothing is limited
 * @param cookies knows the one of the session
 */
export function limitRates(app: FastifyInstance, limiter: Limiter | null, cookies: Cookies): void {
  if (limiter === null) return
  app.decorateRequest('limits', null)
  app.decorateRequest('attempts', null)
  app.addHook('onRoute', (route) => {
    const rules = rulesOf(limiter, routeInfoOf(route))
    if (rules.length > 0) limitRoute(route, { limiter, cookies }, rules)
  })
}

/** Whether a route can answer 429. */
export function isLimited(limiter: Limiter | null, route: RouteInfo): boolean {
  return limiter !== null && rulesOf(limiter, route).length > 0
}

function rulesOf(limiter: Limiter, route: RouteInfo): Rule[] {
  return limitsOf(route).flatMap((limit) => {
    const rate = limiter.rateOf(limit)
    return rate === null ? [] : [{ limit, rate }]
  })
}

function limitRoute(route: RouteOptions, ruler: Ruler, rules: readonly Rule[]): void {
  const failures = rules.filter(({ limit }) => limit.counts === 'failures')
  if (failures.length > 0) limitFailures(route, ruler, failures)
  const early = rules.filter(({ limit }) => limit.by !== 'token')
  // Its token is known once it has wholly arrived.
  const late = rules.filter(({ limit }) => limit.by === 'token')
  const admit = (some: readonly Rule[]) => async (request: FastifyRequest) => {
    for (const rule of some) await requireOne(ruler, rule, request)
  }
  route.onRequest = [...hooksOf(route.onRequest), admit(early) as never]
  if (late.length > 0) route.preHandler = [admit(late) as never, ...hooksOf(route.preHandler)]
  const tell = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    tellOfLimits(request, reply)
    return payload
  }
  route.onSend = [...hooksOf(route.onSend), tell as never]
}

/** @throws CodedError RATE_LIMITED */
async function requireOne(ruler: Ruler, rule: Rule, request: FastifyRequest): Promise<void> {
  const who = whoIs(ruler, rule, request)
  if (who === null) return
  const { limiter } = ruler
  const { limit, rate } = rule
  const looks = limit.counts === 'failures'
  const standing = await (looks ? limiter.look(limit, rate, who) : limiter.take(limit, rate, who))
  const refusal = refusalOf(ruler, rule, request, standing)
  if (refusal !== null) throw refusal
}
