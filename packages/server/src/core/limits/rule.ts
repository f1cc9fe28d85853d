import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import type { Cookies } from '../http/cookies.ts'
import { countedPart } from './address.ts'
import type { Told } from './headers.ts'
import type { Limiter } from './limiter.ts'
import type { Limit } from './limits.ts'
import type { Rate, Standing } from './rate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What is left of the limits that the request is under. */
    limits: Told[] | null
  }
}

/** A limit that a route is under. */
export interface Rule {
  readonly limit: Limit
  readonly rate: Rate
}

/** What rules are held with. */
export interface Ruler {
  readonly limiter: Limiter
  /** Knows the one of the session. */
  readonly cookies: Cookies
}

/** @returns null where the request names nobody of that kind: what it is refused for then is another matter */
export function whoIs({ cookies }: Ruler, { limit }: Rule, request: FastifyRequest): string | null {
  if (limit.by === 'address') return countedPart(request.ip)
  if (limit.by === 'session') return cookies.read(request, 'session')
  const { claimToken } = (request.body ?? {}) as { claimToken?: unknown }
  return typeof claimToken === 'string' ? claimToken : null
}

/** Remembers what is left, to be told with the answer, and says what to refuse with where that is nothing. */
export function refusalOf(
  { limiter }: Ruler,
  { limit, rate }: Rule,
  request: FastifyRequest,
  standing: Standing,
): CodedError | null {
  // The newest of each limit counts.
  const others = (request.limits ?? []).filter(({ name }) => name !== limit.name)
  request.limits = [...others, { name: limit.name, rate, standing }]
  if (standing.isAllowed) return null
  limiter.countRefusal(limit)
  const seconds = Math.max(1, Math.ceil(standing.retryMs / 1000))
  return new CodedError('RATE_LIMITED', `${REASON[limit.by]} Try again in ${seconds} s.`, {
    retryAfterSeconds: seconds,
  })
}

const REASON: Readonly<Record<Limit['by'], string>> = {
  address: 'Too many requests of this kind from your address.',
  session: 'Too many requests of this kind from your session.',
  token: 'Too many failed claims with this token.',
}
