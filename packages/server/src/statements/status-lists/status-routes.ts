import { CodedError, errorSchema, snapshotSchema } from '@countersign/protocol'
import Negotiator from 'negotiator'
import { Type } from 'typebox'
import type { Site } from '../../base/site.ts'
import { allowAnyOrigin, answerPreflight } from '../../http/cors.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { StatusTokens } from './status-tokens.ts'

export interface StatusRouteDeps {
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
