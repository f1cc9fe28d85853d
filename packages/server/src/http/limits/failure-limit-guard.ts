import { CodedError } from '@countersign/protocol'
import type { FastifyRequest, RouteOptions } from 'fastify'
import type { Attempt } from './attempt-queue.ts'
import { applyState, clientOf, type RateLimitRule, type RuleContext } from './rate-limit-rule.ts'
import type { RateLimit } from './rate-limits.ts'
import { hooksOf } from './route-info.ts'

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
export function limitFailures(
  route: RouteOptions,
  context: RuleContext,
  rules: readonly RateLimitRule[],
): void {
  const begin = async (request: FastifyRequest) => {
    request.attempts = []
    for (const rule of rules) await beginAttempt(context, rule, request, request.attempts)
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

/**
 * Whether a claim failed in a way that counts: a wrong signature, or an unknown token. Unknown tokens are not counted by
 * token: anyone can invent a new one for each request.
 */
function isFailure({ by }: RateLimit, error: unknown): boolean {
  if (!(error instanceof CodedError)) return false
  return error.code === 'INVALID_SIGNATURE' || (error.code === 'NOT_FOUND' && by !== 'token')
}
