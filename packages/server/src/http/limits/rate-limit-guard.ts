import { CodedError } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Cookies } from '../cookies.ts'
import { addressKey } from './address-key.ts'
import type { Attempt } from './attempt-queue.ts'
import type { QuotaState, Rate } from './quota.ts'
import { type LimitState, setRateLimitHeaders } from './rate-limit-headers.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { type RateLimit, rateLimitsOf } from './rate-limits.ts'
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
  const failures = rules.filter(({ limit }) => limit.failures !== null)
  if (failures.length > 0) limitFailures(route, context, failures)
  const beforeBody = rules.filter(({ limit }) => limit.by !== 'token' && !limit.sparesSuccess)
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
  const state = await (limit.failures !== null
    ? rateLimiter.peek(limit, rate, client)
    : rateLimiter.take(limit, rate, client))
  const error = applyState(context, rule, request, state)
  if (error !== null) throw error
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Attempts that the request has begun, until its response is sent. */
    attempts: Attempt[] | null
  }
}

/**
 * Applies limits that count only failures to a route; an earlier hook has already rejected clients whose quota is used up.
 * A failure takes one from the quota before it is answered. If nothing is left by then, the answer is 429 instead of the
 * failure, so that a client that asks many nodes at once learns no more than from one node.
 */
function limitFailures(
  route: RouteOptions,
  context: RuleContext,
  rules: readonly RateLimitRule[],
): void {
  const begin = async (request: FastifyRequest) => {
    request.attempts = []
    for (const rule of rules) {
      if (!rule.limit.sparesSuccess) await beginAttempt(context, rule, request, request.attempts)
    }
  }
  // Before the concurrency limiter: a request that waits for its attempt must not hold a slot.
  route.preHandler = [begin as never, ...hooksOf(route.preHandler)]
  const { handler } = route
  route.handler = async function (request, reply) {
    try {
      return await handler.call(this, request, reply)
    } catch (error) {
      const failed = rules.filter(({ limit }) => isFailure(limit, error))
      throw (await countFailure(context, failed, request)) ?? error
    }
  }
  const end = async (request: FastifyRequest, _reply: unknown, payload: unknown) => {
    for (const attempt of request.attempts?.splice(0) ?? []) attempt.end()
    return payload
  }
  route.onSend = [...hooksOf(route.onSend), end as never]
}

/** @throws CodedError RATE_LIMITED, or UNAVAILABLE if too many attempts are queued */
async function beginAttempt(
  context: RuleContext,
  rule: RateLimitRule,
  request: FastifyRequest,
  begun: Attempt[],
): Promise<void> {
  const client = clientOf(context, rule, request)
  if (client === null) return
  const attempt = await context.rateLimiter.beginAttempt(rule.limit, rule.rate, client)
  begun.push(attempt)
  const error = applyState(context, rule, request, attempt.state)
  if (error !== null) throw error
}

/** @returns the error to answer with instead of the failure; null: answer with the failure itself */
async function countFailure(
  context: RuleContext,
  rules: readonly RateLimitRule[],
  request: FastifyRequest,
): Promise<CodedError | null> {
  let limited: CodedError | null = null
  for (const rule of rules) {
    const client = clientOf(context, rule, request)
    if (client === null) continue
    const state = await context.rateLimiter.take(rule.limit, rule.rate, client)
    limited = applyState(context, rule, request, state) ?? limited
  }
  return limited
}

function isFailure({ failures }: RateLimit, error: unknown): boolean {
  return error instanceof CodedError && failures?.includes(error.code) === true
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The limits that apply to the request, with the newest state of each. */
    limits: LimitState[] | null
  }
}

/** A limit of a route with its configured rate. */
interface RateLimitRule {
  readonly limit: RateLimit
  readonly rate: Rate
}

/** What the rules of all routes share. */
interface RuleContext {
  readonly rateLimiter: RateLimiter
  /** Reads the session cookie. */
  readonly cookies: Cookies
}

/**
 * Whose quota a request counts against: the address, session token or API key, claim token, or SCIM token.
 * @returns null if the request has none of that kind; the handler rejects it for that reason
 */
function clientOf(
  { cookies }: RuleContext,
  { limit }: RateLimitRule,
  request: FastifyRequest,
): string | null {
  // Counted by the handler, which knows for whom the request acts.
  if (limit.by === 'organisation') return null
  if (limit.by === 'address') return addressKey(request.ip)
  if (limit.by === 'bearer') return request.headers.authorization ?? null
  if (limit.by === 'session')
    return cookies.read(request, 'session') ?? request.headers.authorization ?? null
  const { claimToken } = (request.body ?? {}) as { claimToken?: unknown }
  return typeof claimToken === 'string' ? claimToken : null
}

/**
 * Records the state of a quota for the response headers.
 * @returns the error to answer with if the quota is used up, else null
 */
function applyState(
  { rateLimiter }: RuleContext,
  { limit, rate }: RateLimitRule,
  request: FastifyRequest,
  state: QuotaState,
): CodedError | null {
  const others = (request.limits ?? []).filter(({ name }) => name !== limit.name)
  request.limits = [...others, { name: limit.name, rate, state }]
  if (state.isAllowed) return null
  rateLimiter.countRejection(limit)
  const seconds = Math.max(1, Math.ceil(state.retryMs / 1000))
  return new CodedError('RATE_LIMITED', `${REASON[limit.by]} Try again in ${seconds} s.`, {
    retryAfterSeconds: seconds,
  })
}

const REASON: Readonly<Record<RateLimit['by'], string>> = {
  address: 'Too many requests of this kind from your address.',
  session: 'Too many requests of this kind from your session.',
  token: 'Too many failed claims with this token.',
  organisation: 'Too many requests of this kind from your organisation.',
  bearer: 'Too many requests with this token.',
}
