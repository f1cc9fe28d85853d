import { compactCardSchema } from '@countersign/protocol'
import { BRIEFLY } from '../core/http/caching.ts'
import { agentParam, publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import type { Pages } from '../pages/load.ts'
import { cardBody, cardResponse } from './card-formats.ts'
import { compactCardText } from './card-text.ts'
import { compactCardOf } from './compact-card.ts'
import { findAgent, type ReadDeps } from './find-agent.ts'

/**
 * Contract 4.6.
 * @param pages what writes the card for people, where the preview `card-formats` is on; null: JSON, whatever is asked for
 */
export function compactCardRoute(app: App, read: ReadDeps, pages: Pages | null): void {
  const schema = compactCardSchema()
  publicRead(app, read.site.naming, {
    url: '/api/v1/agent/:agent/card',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'compactCard',
      summary: 'The compact card of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: { 200: pages === null ? schema : cardResponse(schema) },
    },
    handler: async (params: { agent: string }, reply, accept) => {
      const card = compactCardOf(read.site, await findAgent(read, params.agent), read.now())
      if (pages === null) return card
      return cardBody(reply, accept, {
        card,
        text: () => compactCardText(card),
        html: () => pages.make.compactCardSnippet(pages.context, card),
      })
    },
  })
}
