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
import { allowAnyOrigin, answerPreflight } from '../../http/cors.ts'
import { addressKey } from '../../http/limits/address-key.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { FeedHeads } from './feed-heads.ts'
import type { FeedFormat, StatusFeed } from './status-feed.ts'
import type { StatusTokens } from './status-tokens.ts'

interface StatusRouteDeps {
  readonly site: Site
  readonly tokens: StatusTokens
}

/** Lists and snapshots may be this old. */
const CACHE_5_SECONDS = 'public, max-age=5'
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
      reply.type('application/json; charset=utf-8').header('cache-control', CACHE_5_SECONDS)
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
const EVENT_STREAM = 'text/event-stream'
/** How long a client should wait before it connects again. */
const RETRY_MS = 2000

interface FeedRouteDeps {
  readonly site: Site
  readonly feed: StatusFeed
  readonly heads: FeedHeads
}

const NDJSON: FeedFormat = {
  change: (change) => `${JSON.stringify(change)}\n`,
  head: (head) => `${JSON.stringify({ head })}\n`,
  heartbeat: '\n',
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
              'the cursor: a head of the feed. Absent or 0: from the oldest event that is kept',
          }),
        ),
      }),
      response: {
        200: {
          description: `Lines: changes, and heads. As ${FEED_TYPE} up to the newest event; as ${EVENT_STREAM}, if that is accepted, the stream stays open`,
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
      const isStream = acceptsEvents(request)
      reply.header('vary', 'Accept').header('cache-control', 'no-store')
      const cursor = cursorOf(request, isStream)
      const after = await heads.seqOf(cursor).catch((error) => {
        if (isExpired(error)) reply.header('link', `<${site.baseUrl}/api/v1/snapshot>; rel="start"`)
        throw error
      })
      if (!isStream) return send(reply, FEED_TYPE, Readable.from(feed.lines(after, NDJSON)))
      const stream = new PassThrough()
      stream.write(`retry: ${RETRY_MS}\n\n`)
      feed.subscribe(stream, after, SERVER_SENT_EVENTS, addressKey(request.ip))
      return send(reply.header('x-accel-buffering', 'no'), EVENT_STREAM, stream)
    },
  })
  answerPreflight(app, site.naming, URL, 'GET, OPTIONS')
}

function send(reply: FastifyReply, type: string, stream: Readable): FastifyReply {
  return reply.type(type).send(stream as never)
}

function acceptsEvents({ headers: { accept } }: FastifyRequest): boolean {
  if (accept === undefined) return false
  const negotiator = new Negotiator({ headers: { accept } })
  return negotiator.mediaType([FEED_TYPE, EVENT_STREAM]) === EVENT_STREAM
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
