import { CodedError } from '@countersign/protocol'
import type { FastifyRequest, RouteOptions } from 'fastify'
import type { Attempt } from './attempts.ts'
import type { Limit } from './limits.ts'
import { hooksOf } from './route-class.ts'
import { type Rule, type Ruler, refusalOf, whoIs } from './rule.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What it may fail at, until it is answered. */
    attempts: Attempt[] | null
  }
}

/**
 * Holds a route under limits that count failures alone, for whose quota admission has looked already. A failure takes from
 * the quota before it is answered, and where nothing was left to take, since others have failed meanwhile, the answer
 * says no more than that: whoever asks many nodes at once learns no more than whoever asks one.
 */
export function limitFailures(route: RouteOptions, ruler: Ruler, rules: readonly Rule[]): void {
  const begin = async (request: FastifyRequest) => {
    request.attempts = []
    for (const rule of rules) await beginOne(ruler, rule, request, request.attempts)
  }
  // Ahead of the room in which the request is worked on: who waits in line keeps no place there.
  route.preHandler = [begin as never, ...hooksOf(route.preHandler)]
  const { handler } = route
  route.handler = async function (request, reply) {
    try {
      return await handler.call(this, request, reply)
    } catch (error) {
      const failed = rules.filter(({ limit }) => isFailure(limit, error))
      throw (await countFailure(ruler, failed, request)) ?? error
    }
  }
  const end = async (request: FastifyRequest, _reply: unknown, payload: unknown) => {
    for (const attempt of request.attempts?.splice(0) ?? []) attempt.end()
    return payload
  }
  route.onSend = [...hooksOf(route.onSend), end as never]
}

/** @throws CodedError RATE_LIMITED, UNAVAILABLE where too many wait */
async function beginOne(
  ruler: Ruler,
  rule: Rule,
  request: FastifyRequest,
  begun: Attempt[],
): Promise<void> {
  const who = whoIs(ruler, rule, request)
  if (who === null) return
  const attempt = await ruler.limiter.begin(rule.limit, rule.rate, who)
  begun.push(attempt)
  const refusal = refusalOf(ruler, rule, request, attempt.standing)
  if (refusal !== null) throw refusal
}

/** @returns what to answer in the place of the failure; null: the failure itself */
async function countFailure(
  ruler: Ruler,
  rules: readonly Rule[],
  request: FastifyRequest,
): Promise<CodedError | null> {
  let refusal: CodedError | null = null
  for (const rule of rules) {
    const who = whoIs(ruler, rule, request)
    if (who === null) continue
    const standing = await ruler.limiter.take(rule.limit, rule.rate, who)
    refusal = refusalOf(ruler, rule, request, standing) ?? refusal
  }
  return refusal
}

/**
 * Whether a claim has failed so that it counts: by a wrong signature, or a token that nobody was given. The latter are as many as
 * somebody cares to make up: each of them by itself is not worth counting.
 */
function isFailure({ by }: Limit, error: unknown): boolean {
  if (!(error instanceof CodedError)) return false
  return error.code === 'INVALID_SIGNATURE' || (error.code === 'NOT_FOUND' && by !== 'token')
}
