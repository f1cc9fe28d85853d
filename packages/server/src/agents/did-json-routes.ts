import { resolvableDidDocumentSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import { REVALIDATE } from '../core/http/caching.ts'
import { publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import { DID_JSON } from './agent-routes.ts'
import { resolvableDidDocumentOf } from './did-document.ts'
import { findAgentByTail, type ReadDeps } from './find-agent.ts'

/** Where did:web resolution looks: `did:web:{host}:agent:svc:agent:{tail}` is `/agent/svc/agent/{tail}/did.json`. */
export function didJsonRoute(app: App, deps: ReadDeps): void {
  const { naming } = deps.site
  const document = { content: { [DID_JSON]: { schema: resolvableDidDocumentSchema() } } }
  publicRead(app, naming, {
    url: `/agent/${naming.shortName}/agent/:tail/did.json`,
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'didJson',
      summary: 'The DID document that did:web resolvers fetch',
      tags: ['resolve'],
      params: Type.Object({
        tail: Type.String({ description: 'the 24 characters at the end of the DID' }),
      }),
      response: {
        200: { description: 'The DID document', ...document },
        410: { description: 'The DID document of a revoked agent', ...document },
      },
    },
    handler: async (params: { tail: string }, reply) => {
      const { agent } = await findAgentByTail(deps, params.tail)
      if (agent.status === 'revoked') reply.code(410).header('cache-control', 'no-store')
      reply.type(DID_JSON)
      return resolvableDidDocumentOf(deps.site, agent)
    },
  })
}
