import { cardSchema } from '@countersign/protocol'
import { cardOf } from '../../domain/card.ts'
import { publicChannel } from '../../domain/channels/public-channel.ts'
import { findAgent, type ReadDeps } from '../../domain/find-agent.ts'
import type { App } from '../bare-app.ts'
import { BRIEFLY } from '../caching.ts'
import { cardBody, cardResponse } from '../card-formats.ts'
import { cardText } from '../card-text.ts'
import type { Pages } from '../pages/load.ts'
import { agentParam, publicRead } from '../public-read.ts'

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
