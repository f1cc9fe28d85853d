import { type Card, type CompactCard, cardSchema, compactCardSchema } from '@countersign/protocol'
import type { FastifyReply } from 'fastify'
import type { TSchema } from 'typebox'
import { CACHE_30_SECONDS } from '../core/http/caching.ts'
import { agentParam, publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import { cardOf, compactCardOf } from './card.ts'
import { cardText, compactCardText } from './card-text.ts'
import { findAgent, type ReadDeps } from './find-agent.ts'
import { type PublicChannel, publicChannel } from './public-channel.ts'

/**
 * Contract 4.5.
 * @param renderHtml renders the card as an HTML snippet; null if the preview `card-formats` is off: the answer is always JSON
 */
export function cardRoute(
  app: App,
  read: ReadDeps,
  renderHtml: ((card: Card, channels: readonly PublicChannel[]) => string) | null,
): void {
  const schema = cardSchema(read.site.naming)
  publicRead(app, read.site.naming, {
    url: '/api/agents/:agent/card',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'card',
      summary: 'The full card of an agent',
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
 * Contract 4.6.
 * @param renderHtml renders the card as an HTML snippet; null if the preview `card-formats` is off: the answer is always JSON
 */
export function compactCardRoute(
  app: App,
  read: ReadDeps,
  renderHtml: ((card: CompactCard) => string) | null,
): void {
  const schema = compactCardSchema()
  publicRead(app, read.site.naming, {
    url: '/api/v1/agent/:agent/card',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'compactCard',
      summary: 'The compact card of an agent',
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

/** What cards can be sent as. Of those that the caller likes best, the first one is. */
const FORMATS = ['application/json', 'text/plain', 'text/html'] as const
type Format = (typeof FORMATS)[number]

/** A card, and how it is written for people. */
interface WritableCard<C> {
  readonly card: C
  text(): string
  html(): string
}

/** A snippet that is opened as a page of its own: nothing but its words and its picture. */
const SNIPPET_CSP = "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'"

/**
 * The body of a card in the format that `Accept` asks for (contract 4.5, planned: the preview `card-formats`). JSON
 * where it is as welcome as another, and where nothing is welcome: a card has no other refusal than those of the contract.
 */
function cardBody<C>(
  reply: FastifyReply,
  accept: string | undefined,
  { card, text, html }: WritableCard<C>,
): C | string {
  const format = formatFor(accept)
  reply.type(`${format}; charset=utf-8`)
  if (format === 'application/json') return card
  if (format === 'text/plain') return text()
  reply.header('content-security-policy', SNIPPET_CSP)
  return html()
}

/** The response of a card's route, as the schema of the route and /openapi.json have it. */
function cardResponse(schema: TSchema) {
  return {
    description: 'The card, in the format that Accept asks for: JSON unless another is preferred',
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

function formatFor(accept: string | undefined): Format {
  let best: Format = 'application/json'
  if (accept === undefined) return best
  const ranges = accept.split(',').map(parseRange)
  for (const format of FORMATS) {
    if (quality(ranges, format) > quality(ranges, best)) best = format
  }
  return best
}

interface Range {
  readonly type: string
  readonly q: number
}

/** A media range with its weight (RFC 9110 section 12.5.1). One whose weight cannot be read weighs nothing. */
function parseRange(text: string): Range {
  const [type = '', ...parameters] = text
    .toLowerCase()
    .split(';')
    .map((each) => each.trim())
  const weight = parameters.find((each) => each.startsWith('q='))?.slice(2) ?? '1'
  return { type, q: WEIGHT.test(weight) ? Number(weight) : 0 }
}

const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** How welcome a format is: the most specific range that it is in decides. */
function quality(ranges: readonly Range[], format: Format): number {
  for (const type of [format, format.replace(/\/.*/, '/*'), '*/*']) {
    const found = ranges.filter((each) => each.type === type)
    if (found.length > 0) return Math.max(...found.map(({ q }) => q))
  }
  return 0
}
