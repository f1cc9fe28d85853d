import type { Naming } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** What a page of another origin may see of the headers where an answer says when to come back. */
export const EXPOSED_OF_REFUSALS = 'ETag, Retry-After, RateLimit, RateLimit-Policy'

/** A hook for public routes: any page may read the answer. No credentials are ever involved. */
export function allowAnyOrigin(
  _request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  reply.header('access-control-allow-origin', '*')
  reply.header('access-control-expose-headers', 'ETag')
  done()
}

/** Answers the question that browsers ask before a request that is not simple. */
export function answerPreflight(
  app: FastifyInstance,
  naming: Naming,
  url: string,
  method: string,
): void {
  app.options(url, { schema: { hide: true } }, (_request, reply) => {
    reply
      .code(204)
      .header('access-control-allow-origin', '*')
      .header('access-control-allow-methods', method)
      .header('access-control-allow-headers', `Content-Type, If-None-Match, ${naming.idHeader}`)
      .header('access-control-max-age', '86400')
      .send()
  })
}
