import { cardSchema } from '@countersign/protocol'
import { cardOf } from '../../domain/card.ts'
import { findAgent, type ReadDeps } from '../../domain/find-agent.ts'
import type { App } from '../bare-app.ts'
import { BRIEFLY } from '../caching.ts'
import { agentParam, publicRead } from '../public-read.ts'

/** Contract 4.5. */
export function cardRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: '/api/agents/:agent/card',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'card',
      summary: 'The full card of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: { 200: cardSchema(deps.site.naming) },
    },
    handler: async (params: { agent: string }) =>
      cardOf(deps.site, await findAgent(deps, params.agent), deps.now()),
  })
}
