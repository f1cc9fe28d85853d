import { CodedError } from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * A hook against cross-site request forgery: what changes state comes from our own pages, or from no page at all.
 * Browsers send Origin with every request that is not GET or HEAD; a program with a cookie of its own may leave it out.
 */
export function requireSameOrigin(baseUrl: string) {
  return (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void => {
    done(SAFE.has(request.method) || isOurs(request, baseUrl) ? undefined : refusal())
  }
}

function isOurs({ headers }: FastifyRequest, baseUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin !== baseUrl) return false
  return site === undefined || site === 'same-origin'
}

function refusal(): CodedError {
  return new CodedError('FORBIDDEN', 'This can only be done from a page of this service.')
}
