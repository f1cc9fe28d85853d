import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import type { Cookies } from '../cookies.ts'
import { addressKey } from './address-key.ts'
import type { QuotaState, Rate } from './quota.ts'
import type { LimitState } from './rate-limit-headers.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { RateLimit } from './rate-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The limits that apply to the request, with the newest state of each. */
    limits: LimitState[] | null
  }
}

/** A limit of a route with its configured rate. */
export interface RateLimitRule {
  readonly limit: RateLimit
  readonly rate: Rate
}

/** What the rules of all routes share. */
export interface RuleContext {
  readonly rateLimiter: RateLimiter
  /** Reads the session cookie. */
  readonly cookies: Cookies
}

/**
 * Whose quota a request counts against: the address, session token or API key, or claim token.
 * @returns null if the request has none of that kind; the handler rejects it for that reason
 */
export function clientOf(
  { cookies }: RuleContext,
  { limit }: RateLimitRule,
  request: FastifyRequest,
): string | null {
  if (limit.by === 'address') return addressKey(request.ip)
  if (limit.by === 'session')
    return cookies.read(request, 'session') ?? request.headers.authorization ?? null
  const { claimToken } = (request.body ?? {}) as { claimToken?: unknown }
  return typeof claimToken === 'string' ? claimToken : null
}

/**
 * Records the state of a quota for the response headers.
 * @returns the error to answer with if the quota is used up, else null
 */
export function applyState(
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
}
