import { PassThrough, Readable } from 'node:stream'
import {
  CodedError,
  errorSchema,
  FEED_TYPE,
  feedLineSchema,
  snapshotSchema,
} from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { Type } from 'typebox'
import type { Site } from '../../base/site.ts'
import { acceptsEvents, EVENT_STREAM } from '../../http/accepts-events.ts'
import { allowAnyOrigin, answerPreflight } from '../../http/cors.ts'
import { addressKey, networkKey } from '../../http/limits/address-key.ts'
import { type PlainDeps, plainAnswer } from '../../http/plain-answers.ts'
import { publicRead } from '../../http/public-read.ts'
import type { AheadOfRouter, App } from '../../http/server.ts'
import type { FeedHeads } from './feed-heads.ts'
import { type FeedFormat, NDJSON, type StatusFeed } from './status-feed.ts'
import type { StatusTokens } from './status-tokens.ts'

interface StatusRouteDeps {
  readonly site: Site
  readonly tokens: StatusTokens
}

/**
 * Lists may be this old. In the second after that (RFC 5861), a shared cache that asks for a newer one answers all others with
 * what it has. So however many ask it, it asks the service once.
 */
const CACHE_5_SECONDS = 'public, max-age=5, stale-while-revalidate=1'
/** A reader of the feed may need what a head has just announced. */
const CACHE_1_SECOND = 'public, max-age=1, stale-while-revalidate=1'
/** draft-ietf-oauth-status-list section 8.1 */
const STATUS_LIST_TYPE = 'application/statuslist+jwt'

/** The status lists to which certificates refer (draft-ietf-oauth-status-list). */
export function statusListRoute(app: App, { site, tokens }: StatusRouteDeps): void {
  publicRead(app, site.naming, {
    url: '/status/:list',
    cacheControl: CACHE_5_SECONDS,
    schema: {
      operationId: 'statusList',
      summary: 'Get a status list, to which certificates refer',
      tags: ['check'],
      params: Type.Object({ list: Type.String({ description: 'the number of the list' }) }),
      response: {
        200: {
          description: 'A token status list: a JWS of the type statuslist+jwt',
          content: { [STATUS_LIST_TYPE]: { schema: { type: 'string' } } },
        },
      },
    },
    handler: async (params: { list: string }, reply) => {
      if (!/^[1-9]\d{0,9}$/.test(params.list)) {
        throw new CodedError('NOT_FOUND', 'There is no status list with this number.')
      }
      const token = await tokens.list(Number(params.list))
      reply.type(STATUS_LIST_TYPE)
      return token
    },
  })
}

const SNAPSHOT_URL = '/api/v1/snapshot'

/** All status lists in one state, from which the feed continues. */
export function snapshotRoute(app: App, { site, tokens }: StatusRouteDeps): void {
  app.get(SNAPSHOT_URL, {
    schema: {
      operationId: 'statusSnapshot',
      summary: 'Get all status lists in one state',
      tags: ['check'],
      response: { 200: snapshotSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    onRequest: allowAnyOrigin,
    handler: async (request, reply) => {
      const { json, gzip } = await tokens.snapshot()
      reply.type('application/json; charset=utf-8').header('cache-control', CACHE_1_SECOND)
      reply.header('vary', 'Accept-Encoding').serializer((body: unknown) => body as string)
      const negotiator = new Negotiator({
        headers: { 'accept-encoding': request.headers['accept-encoding'] ?? 'identity' },
      })
      if (negotiator.encoding(['gzip', 'identity']) !== 'gzip') return json as never
      return reply.header('content-encoding', 'gzip').send(gzip as never)
    },
  })
  answerPreflight(app, site.naming, SNAPSHOT_URL, 'GET, HEAD, OPTIONS')
}

const URL = '/api/v1/feed'
/** How long a client should wait before it connects again. */
const RETRY_MS = 2000

interface FeedRouteDeps {
  readonly site: Site
  readonly feed: StatusFeed
  readonly heads: FeedHeads
}

/** The id of a head is the head itself: clients send it again as Last-Event-ID. */
const SERVER_SENT_EVENTS: FeedFormat = {
  change: (change) => `event: change\ndata: ${JSON.stringify(change)}\n\n`,
  head: (head) => `id: ${head}\nevent: head\ndata: ${JSON.stringify({ head })}\n\n`,
  heartbeat: ':\n\n',
}

/** What happens to entries of status lists, in order, with signed heads. */
export function feedRoute(app: App, { site, feed, heads }: FeedRouteDeps): void {
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
    feed.endAll()
  })
  app.get(URL, {
    exposeHeadRoute: false,
    schema: {
      operationId: 'statusFeed',
      summary: 'Follow the status of certificates',
      tags: ['check'],
      querystring: Type.Object({
        after: Type.Optional(
          Type.String({
            maxLength: 4000,
            description:
              'the cursor: a head of the feed. Absent or 0: from the first change of the epoch, if it is still kept',
          }),
        ),
      }),
      response: {
        200: {
          description: `Lines: changes, and heads. As ${FEED_TYPE} up to the newest change; as ${EVENT_STREAM}, if that is accepted, the stream stays open`,
          content: {
            [FEED_TYPE]: { schema: { ...feedLineSchema(), description: 'each line' } },
            [EVENT_STREAM]: { schema: { type: 'string' } },
          },
        },
        '4xx': errorSchema(),
        '5xx': errorSchema(),
      },
    },
    onRequest: allowAnyOrigin,
    handler: async (request, reply) => {
      if (closing) throw new CodedError('UNAVAILABLE', 'The service is shutting down.')
      const isStream = acceptsEvents(request, FEED_TYPE)
      // Those who poll through a cache have the same cursor, because `latest` gave them the same head.
      reply.header('vary', 'Accept').header('cache-control', isStream ? 'no-store' : CACHE_1_SECOND)
      const cursor = cursorOf(request, isStream)
      const after = await heads.changeOf(cursor).catch((error) => {
        if (isExpired(error)) reply.header('link', `<${site.baseUrl}/api/v1/snapshot>; rel="start"`)
        throw error
      })
      if (!isStream) return send(reply, FEED_TYPE, Readable.from(feed.lines(after, NDJSON)))
      const stream = new PassThrough()
      stream.write(`retry: ${RETRY_MS}\n\n`)
      const client = { address: addressKey(request.ip), network: networkKey(request.ip) }
      feed.subscribe(stream, after, SERVER_SENT_EVENTS, client)
      return send(reply.header('x-accel-buffering', 'no'), EVENT_STREAM, stream)
    },
  })
  answerPreflight(app, site.naming, URL, 'GET, OPTIONS')
}

const LATEST_URL = '/api/v1/feed/latest'

/** What `latestFeedRoute` answers, for the rate limits and limiters. */
export const LATEST_FEED = { operationId: 'statusFeedLatest', url: LATEST_URL, method: 'GET' }

/** The newest changes and a head, for those who follow the feed without a stream. */
export function latestFeedRoute(app: App, { site, feed }: Omit<FeedRouteDeps, 'heads'>): void {
  publicRead(app, site.naming, {
    url: LATEST_URL,
    cacheControl: CACHE_1_SECOND,
    schema: {
      operationId: LATEST_FEED.operationId,
      summary: 'Poll the status of certificates',
      tags: ['check'],
      response: {
        200: {
          description: `The newest 64 changes or less, and a head, at most 4 KiB. If the changes begin after those that you know, read ${URL}`,
          content: { [FEED_TYPE]: { schema: { ...feedLineSchema(), description: 'each line' } } },
        },
      },
    },
    handler: async (_params, reply) => {
      const { latest } = feed
      if (latest === null) {
        throw new CodedError('UNAVAILABLE', 'There is no head yet. Try again in a second.', {
          retryAfterSeconds: 1,
        })
      }
      reply.type(FEED_TYPE).header('etag', latest.etag)
      return latest.body
    },
  })
}

/** Answers almost all polls before the router: however many follow, they cost no more than health checks. */
export function answerPlainPolls(deps: PlainDeps, feed: StatusFeed): AheadOfRouter {
  return plainAnswer(deps, { url: LATEST_URL, cacheControl: CACHE_1_SECOND }, () => {
    const { latest } = feed
    if (latest === null) return null
    const { body, etag } = latest
    return { headers: ['content-type', FEED_TYPE, 'etag', etag], body, length: body.length }
  })
}

function send(reply: FastifyReply, type: string, stream: Readable): FastifyReply {
  return reply.type(type).send(stream as never)
}

/** A browser repeats the newest head that it has received, which comes before the one in the URL. */
function cursorOf({ query, headers }: FastifyRequest, isStream: boolean): string {
  const { after } = query as { after?: string }
  const last = isStream ? headers['last-event-id'] : undefined
  return (typeof last === 'string' && last !== '' ? last : after) || '0'
}

function isExpired(error: unknown): boolean {
  return error instanceof CodedError && error.code === 'CURSOR_EXPIRED'
}
