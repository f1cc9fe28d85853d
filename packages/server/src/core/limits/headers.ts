import type { FastifyReply, FastifyRequest } from 'fastify'
import { EXPOSED_OF_REFUSALS } from '../http/cors.ts'
import type { Rate, Standing } from './rate.ts'

/** A limit that a request is under, and what is left of it. */
export interface Told {
  readonly name: string
  readonly rate: Rate
  readonly standing: Standing
}

/** What `/openapi.json` says of the headers of a refusal. */
export const LIMIT_HEADERS = {
  'Retry-After': {
    description: 'With RATE_LIMITED: in how many seconds to try again (RFC 9110)',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: 'The limits that the request is under: `q` in `w` seconds each',
    schema: { type: 'string' },
  },
  RateLimit: {
    description: 'What is left of them: `r` now, all of it in `t` seconds',
    schema: { type: 'string' },
  },
} as const

/**
 * Tells of the limits, as draft-ietf-httpapi-ratelimit-headers-10 has it. Not in answers that caches may keep: they would tell
 * one caller of another's.
 */
export function tellOfLimits({ limits, method }: FastifyRequest, reply: FastifyReply): void {
  const isRefusal = reply.statusCode === 429
  if (limits === null || (!isRefusal && (method === 'GET' || method === 'HEAD'))) return
  reply.header('ratelimit-policy', limits.map(policy).join(', '))
  reply.header('ratelimit', limits.map(left).join(', '))
  if (!reply.hasHeader('access-control-allow-origin')) return
  reply.header('access-control-expose-headers', EXPOSED_OF_REFUSALS)
}

/** Names of ours are lower-case letters and hyphens, which need no escape in a string (RFC 9651). */
function policy({ name, rate }: Told): string {
  return `"${name}";q=${rate.quota};w=${Math.ceil(rate.windowMs / 1000)}`
}

function left({ name, standing }: Told): string {
  return `"${name}";r=${standing.remaining};t=${Math.ceil(standing.resetMs / 1000)}`
}
