import type { Naming } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** `Access-Control-Expose-Headers` of errors that say when to retry. */
export const EXPOSED_HEADERS_ON_ERROR = 'ETag, Retry-After, RateLimit, RateLimit-Policy'

/** A hook for public routes: a page of any origin may read the response. Never with credentials. */
export function allowAnyOrigin(
  _request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  reply.header('access-control-allow-origin', '*')
  reply.header('access-control-expose-headers', 'ETag')
  done()
}

/** Registers the answer to OPTIONS of a route, CORS preflight requests included. @param method the methods of the route */
export function answerPreflight(
  app: FastifyInstance,
  naming: Naming,
  url: string,
  method: string,
): void {
  app.options(url, { schema: { hide: true } }, (_request, reply) => {
    reply
      .code(204)
      .header('allow', method)
      .header('access-control-allow-origin', '*')
      .header('access-control-allow-methods', method)
      .header('access-control-allow-headers', `Content-Type, If-None-Match, ${naming.idHeader}`)
      .header('access-control-max-age', '86400')
      .send()
  })
}
