import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Cookies } from '../http/cookies.ts'
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

/** Every address that cannot be read is the same one: whoever makes them up gains nothing. */
const UNKNOWN = 'unknown'

/** What some proxies put into X-Forwarded-For: an address with a port. */
const WITH_PORT = /^(?:\[(?<six>[^\]]+)\]|(?<four>[\d.]+))(?::\d{1,5})?$/

/**
 * What of an address is counted: IPv4 as a whole, of IPv6 the /64, since that is the least that anybody gets (RFC 6177);
 * IPv4 in IPv6 (`::ffff:192.0.2.1`) as what it is.
 */
export function countedPart(address: string): string {
  const { six, four } = WITH_PORT.exec(address)?.groups ?? {}
  const text = six ?? four ?? address
  // ipaddr.js would take numbers such as 2130706433 for an address too.
  if (!ipaddr.IPv6.isValid(text) && !ipaddr.IPv4.isValidFourPartDecimal(text)) return UNKNOWN
  const parsed = ipaddr.process(text)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  const groups = (parsed as ipaddr.IPv6).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}
