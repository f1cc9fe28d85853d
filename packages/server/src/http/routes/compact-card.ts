import { compactCardSchema } from '@countersign/protocol'
import { compactCardOf } from '../../domain/compact-card.ts'
import { findAgent, type ReadDeps } from '../../domain/find-agent.ts'
import type { App } from '../bare-app.ts'
import { BRIEFLY } from '../caching.ts'
import { agentParam, publicRead } from '../public-read.ts'

/** Contract 4.6. */
export function compactCardRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/api/v1/agent/:agent/card',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'compactCard',
      summary: 'The compact card of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: { 200: compactCardSchema() },
    },
    handler: async (params: { agent: string }) =>
      compactCardOf(deps.site, await findAgent(deps, params.agent), deps.now()),
  })
}
