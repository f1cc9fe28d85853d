import { cardSchema, compactCardSchema } from '@countersign/protocol'
import type { FastifyReply } from 'fastify'
import type { TSchema } from 'typebox'
import { CACHE_30_SECONDS } from '../http/caching.ts'
import { agentParam, publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import { type CardRenderers, cardOf, compactCardOf } from './card.ts'
import { cardText, compactCardText } from './card-text.ts'
import { findAgent, type ReadDeps } from './find-agent.ts'
import { preferredType } from './preferred-type.ts'
import { publicChannel } from './public-channel.ts'

export const CARD_URL = '/api/agents/:agent/card'

/**
 * The full card (contract 4.5).
 * @param renderHtml renders the card as an HTML snippet. Null if the preview `card-formats` is off: the response is always JSON.
 */
export function cardRoute(
  app: App,
  read: ReadDeps,
  renderHtml: CardRenderers['full'] | null,
): void {
  const schema = cardSchema(read.site.naming)
  publicRead(app, read.site.naming, {
    url: CARD_URL,
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'card',
      summary: 'Get the full card of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: { 200: renderHtml === null ? schema : cardResponse(schema) },
    },
    handler: async (params: { agent: string }, reply, accept) => {
      const card = cardOf(read.site, await findAgent(read, params.agent), read.now())
      if (renderHtml === null) return card
      const channels = card.channels.map((each) => publicChannel(read.site, each))
      return cardBody(reply, accept, {
        card,
        text: () => cardText(read.site.naming, card, channels),
        html: () => renderHtml(card, channels),
      })
    },
  })
}

/**
 * The compact card (contract 4.6).
 * @param renderHtml renders the card as an HTML snippet. Null if the preview `card-formats` is off: the response is always JSON.
 */
export function compactCardRoute(
  app: App,
  read: ReadDeps,
  renderHtml: CardRenderers['compact'] | null,
): void {
  const schema = compactCardSchema()
  publicRead(app, read.site.naming, {
    url: '/api/v1/agent/:agent/card',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'compactCard',
      summary: 'Get the compact card of an agent',
      tags: ['show'],
      params: agentParam('agent'),
      response: { 200: renderHtml === null ? schema : cardResponse(schema) },
    },
    handler: async (params: { agent: string }, reply, accept) => {
      const card = compactCardOf(read.site, await findAgent(read, params.agent), read.now())
      if (renderHtml === null) return card
      return cardBody(reply, accept, {
        card,
        text: () => compactCardText(card),
        html: () => renderHtml(card),
      })
    },
  })
}

const FORMATS = ['application/json', 'text/plain', 'text/html'] as const

/** A card with its renderers. */
interface RenderableCard<C> {
  readonly card: C
  text(): string
  html(): string
}

/** Limits a snippet that is opened as a document of its own to its text and its picture. */
const SNIPPET_CSP = "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'"

/**
 * The body of a card in the format that `Accept` prefers (contract 4.5, preview `card-formats`). If `Accept` allows none of
 * the formats, the card is JSON, since the contract has no 406.
 */
function cardBody<C>(
  reply: FastifyReply,
  accept: string | undefined,
  { card, text, html }: RenderableCard<C>,
): C | string {
  const format = preferredType(accept, FORMATS) ?? 'application/json'
  reply.type(`${format}; charset=utf-8`)
  if (format === 'application/json') return card
  if (format === 'text/plain') return text()
  reply.header('content-security-policy', SNIPPET_CSP)
  return html()
}

/** The response schema of a card's route. */
function cardResponse(schema: TSchema) {
  return {
    description: 'The card, in the format of the Accept header; JSON by default',
    content: {
      'application/json': { schema },
      'text/plain': { schema: { type: 'string', description: 'lines for a terminal' } },
      'text/html': {
        schema: {
          type: 'string',
          description: 'a fragment for other pages, without style or script',
        },
      },
    },
  }
}
