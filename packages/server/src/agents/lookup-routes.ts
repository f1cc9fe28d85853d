import { lookupSchema } from '@countersign/protocol'
import { REVALIDATE } from '../core/http/caching.ts'
import { agentParam, publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import { findAgent, type ReadDeps } from './find-agent.ts'
import { lookupOf, lookupTag } from './lookup.ts'

export const LOOKUP_PREFIX = '/api/v1/agent/'
export const LOOKUP_URL = `${LOOKUP_PREFIX}:agent`

/** Contract 4.1 and, deprecated, 4.2: a certificate by DID, tail or public key. */
export function lookupRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: LOOKUP_URL,
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'lookup',
      summary: 'Look an agent up by DID, tail or public key',
      tags: ['check'],
      params: agentParam('agent'),
      response: { 200: lookupSchema(deps.site.naming) },
    },
    handler: async (params: { agent: string }, reply) => {
      const view = await findAgent(deps, params.agent)
      const now = deps.now()
      reply.header('etag', `"${lookupTag(deps.site, view, now)}"`)
      return lookupOf(deps.site, view, now)
    },
  })
}
