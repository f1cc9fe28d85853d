import type { FastifyReply, FastifyRequest } from 'fastify'
import { EXPOSED_HEADERS_ON_ERROR } from '../cors.ts'
import type { QuotaState, Rate } from './quota.ts'

/** A limit that applies to a request, and what is left of its quota. */
export interface LimitState {
  readonly name: string
  readonly rate: Rate
  readonly state: QuotaState
}

/**
 * Sets `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10). Cacheable responses get neither: a
 * cache would show one caller's quota to another.
 */
export function setRateLimitHeaders({ limits, method }: FastifyRequest, reply: FastifyReply): void {
  const isLimited = reply.statusCode === 429
  if (limits === null || (!isLimited && (method === 'GET' || method === 'HEAD'))) return
  reply.header('ratelimit-policy', limits.map(policyItem).join(', '))
  reply.header('ratelimit', limits.map(stateItem).join(', '))
  if (!reply.hasHeader('access-control-allow-origin')) return
  reply.header('access-control-expose-headers', EXPOSED_HEADERS_ON_ERROR)
}

/** Names are lower-case letters and hyphens, which need no escaping in a string (RFC 9651). */
function policyItem({ name, rate }: LimitState): string {
  return `"${name}";q=${rate.quota};w=${Math.ceil(rate.windowMs / 1000)}`
}

function stateItem({ name, state }: LimitState): string {
  return `"${name}";r=${state.remaining};t=${Math.ceil(state.resetMs / 1000)}`
}
