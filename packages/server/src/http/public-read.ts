import type { Naming } from '@countersign/protocol'
import type { FastifyReply, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { cached } from './caching.ts'
import { allowAnyOrigin, answerPreflight } from './cors.ts'
import type { App } from './server.ts'
import { errorResponsesAt } from './wants-page.ts'

export interface PublicRead<P> {
  readonly url: string
  readonly cacheControl: string
  readonly schema: FastifySchema & { response: Record<number, unknown> }
  /** Resolves to the response body, or to nothing once it has sent one. */
  handler(
    params: P,
    reply: FastifyReply,
    accept: string | undefined,
    query: unknown,
  ): Promise<unknown>
}

/** Registers a public, cacheable GET (and HEAD) with CORS for any origin. */
export function publicRead<P>(app: App, naming: Naming, route: PublicRead<P>): void {
  app.route({
    method: 'GET',
    url: route.url,
    schema: {
      ...route.schema,
      response: {
        ...route.schema.response,
        304: { type: 'null', description: 'Not modified (If-None-Match)' },
        ...errorResponsesAt(route.url),
      },
    },
    onRequest: allowAnyOrigin,
    onSend: cached(route.cacheControl),
    handler: async (request, reply) => {
      const { accept } = request.headers
      const body = await route.handler(request.params as P, reply, accept, request.query)
      return reply.sent ? reply : reply.send(body as never)
    },
  })
  answerPreflight(app, naming, route.url, 'GET, HEAD, OPTIONS')
}

/** The schema of a path parameter that names an agent. The handler validates its format. */
export function agentParam(name: string) {
  return Type.Object({
    [name]: Type.String({
      description: 'a DID, its 24-character tail, or a base64 public key, percent-encoded',
    }),
  })
}

/** Like `agentParam`, for pages, which also accept usernames. */
export function pageParam() {
  return Type.Object({
    agent: Type.String({
      description:
        'a username, a DID, its 24-character tail, or a base64 public key, percent-encoded',
    }),
  })
}
