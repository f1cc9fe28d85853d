import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A lookup is asked anew each time: a revoked agent must not be vouched for by a cache. */
export const REVALIDATE = 'public, max-age=0, must-revalidate'
/** A card may be a little old (contract 4.5). */
export const BRIEFLY = 'public, max-age=30'

/** What has another address once it is another. Not for longer: a picture that was taken away is gone by tomorrow. */
export const FOR_A_DAY = 'public, max-age=86400, immutable'

/** A hook for routes whose success may be cached: adds the ETag, unless the route gave it, and answers 304 where the caller has it already. */
export function cached(cacheControl: string) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload?: unknown) => void,
  ): void => {
    done(null, tag(request, reply, payload, cacheControl))
  }
}

/** @returns the payload to send: none where the caller has it */
function tag(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  cacheControl: string,
): unknown {
  if (reply.statusCode !== 200 || !isWhole(payload)) return payload
  const given = reply.getHeader('etag')
  const etag = typeof given === 'string' ? given : `"${hash('sha1', payload, 'base64url')}"`
  reply.header('etag', etag).header('vary', 'Accept')
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', cacheControl)
  if (!matches(request.headers['if-none-match'], etag)) return payload
  reply.code(304).removeHeader('content-type')
  // The body of an answer to HEAD is taken away by Fastify, which fails where there is none to take.
  return request.method === 'HEAD' ? payload : null
}

function isWhole(payload: unknown): payload is string | Uint8Array {
  return typeof payload === 'string' || payload instanceof Uint8Array
}

/** RFC 9110 section 13.1.2: a list of tags, weak ones compared as strong, or `*`. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((each) => {
    const tag = each.trim().replace(/^W\//, '')
    return tag === etag || tag === '*'
  })
}
