import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** For lookups: a cache must never serve a revoked agent as active. */
export const REVALIDATE = 'public, max-age=0, must-revalidate'
/** For cards, which may be up to 30 s old (contract section 4.5). */
export const CACHE_30_SECONDS = 'public, max-age=30'

/** For pages that do not depend on an agent. */
export const CACHE_PAGES = 'public, max-age=60'

/** For key sets: verifiers fetch one for many requests, and a revoked key is gone from caches within a minute. */
export const CACHE_ONE_MINUTE = 'public, max-age=60'

/** For content whose URL changes with it. Only a day, so that a deleted picture is gone from caches by tomorrow. */
export const CACHE_ONE_DAY = 'public, max-age=86400, immutable'

/** For tiles of the transparency log, which never change and concern nobody by name. */
export const CACHE_FOREVER = 'public, max-age=31536000, immutable'

/** Creates a hook for cacheable routes: adds an ETag, unless the route has set one, and answers 304 if it matches. */
export function cached(cacheControl: string) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: null, payload?: unknown) => void,
  ): void => {
    done(null, revalidate(request, reply, payload, cacheControl))
  }
}

/** @returns the payload to send; null for a 304 */
function revalidate(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  cacheControl: string,
): unknown {
  if (reply.statusCode !== 200 || !isBuffered(payload)) return payload
  const existing = reply.getHeader('etag')
  const etag = typeof existing === 'string' ? existing : etagOf(payload)
  const vary = reply.getHeader('vary')
  reply.header('etag', etag).header('vary', vary === undefined ? 'Accept' : `Accept, ${vary}`)
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', cacheControl)
  if (!matches(request.headers['if-none-match'], etag)) return payload
  reply.code(304).removeHeader('content-type').removeHeader('content-encoding')
  // Fastify drops the body of a response to HEAD itself, and fails if there is none.
  return request.method === 'HEAD' ? payload : null
}

/** The entity tag of a body, unless its route has another: with quotation marks. */
export function etagOf(body: string | Uint8Array): string {
  return `"${hash('sha1', body, 'base64url')}"`
}

function isBuffered(payload: unknown): payload is string | Uint8Array {
  return typeof payload === 'string' || payload instanceof Uint8Array
}

/** RFC 9110 section 13.1.2: a list of tags or `*`, by weak comparison. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((each) => {
    const tag = each.trim().replace(/^W\//, '')
    return tag === etag || tag === '*'
  })
}
