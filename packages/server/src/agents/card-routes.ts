import { cardSchema } from '@countersign/protocol'
import { BRIEFLY } from '../core/http/caching.ts'
import { agentParam, publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import type { Pages } from '../pages/load.ts'
import { cardOf } from './card.ts'
import { cardBody, cardResponse } from './card-formats.ts'
import { cardText } from './card-text.ts'
import { findAgent, type ReadDeps } from './find-agent.ts'
import { publicChannel } from './public-channel.ts'

/**
 * Contract 4.5.
 * @param pages what writes the card for people, where the preview `card-formats` is on; null: JSON, whatever is asked for
 */
export function cardRoute(app: App, read: ReadDeps, pages: Pages | null): void {
  const schema = cardSchema(read.site.naming)
  publicRead(app, read.site.naming, {
    url: '/api/agents/:agent/card',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'card',
      summary: 'The full card of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: { 200: pages === null ? schema : cardResponse(schema) },
    },
    handler: async (params: { agent: string }, reply, accept) => {
      const card = cardOf(read.site, await findAgent(read, params.agent), read.now())
      if (pages === null) return card
      const channels = card.channels.map((each) => publicChannel(read.site, each))
      return cardBody(reply, accept, {
        card,
        text: () => cardText(read.site.naming, card, channels),
        html: () => pages.make.cardSnippet(pages.context, card, channels),
      })
    },
  })
}
