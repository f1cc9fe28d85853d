import {
  CodedError,
  errorSchema,
  identifySchema,
  lookupSchema,
  parseAgentReference,
  parseIdentificationHeader,
} from '@countersign/protocol'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Site } from '../base/site.ts'
import { REVALIDATE } from '../http/caching.ts'
import { allowAnyOrigin, answerPreflight } from '../http/cors.ts'
import { JSON_UTF8, type PlainDeps, plainAnswers } from '../http/plain-answers.ts'
import { agentParam, publicRead } from '../http/public-read.ts'
import type { AheadOfRouter, App } from '../http/server.ts'
import { findOrThrow, type ReadDeps } from './find-agent.ts'
import { identificationOf, lookupOf, lookupTag, lookupText } from './lookup.ts'

export const LOOKUP_URL = '/api/v1/agent/:agent'

/** Looks a certificate up by DID, tail or public key (contract 4.1 and the deprecated 4.2). */
export function lookupRoute(app: App, deps: ReadDeps): void {
  publicRead(app, deps.site.naming, {
    url: LOOKUP_URL,
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'lookup',
      summary: 'Look up an agent by DID, tail or public key',
      description:
        'The form with a public key is deprecated, and its answers have the `Deprecation` header (RFC 9745). Use the DID.',
      tags: ['check'],
      params: agentParam('agent'),
      response: { 200: lookupSchema(deps.site.naming) },
    },
    handler: async (params: { agent: string }, reply) => {
      const reference = parseAgentReference(deps.site.naming, params.agent)
      if (reference.kind === 'key') markDeprecated(reply, deps.site)
      const view = await findOrThrow(deps, reference)
      const lookup = lookupOf(deps.site, view, deps.now())
      reply.header('etag', `"${lookupTag(lookup)}"`)
      return lookup
    },
  })
}

/** When the lookup by public key was deprecated (contract 4.2): with the first release. Unix seconds. */
const DEPRECATED_AT = Date.UTC(2026, 10, 21) / 1000

/** RFC 9745. The link leads to people's documentation of what to use instead. */
function markDeprecated(reply: FastifyReply, { baseUrl }: Site): void {
  const about = new URL('/docs/contract-endpoints', baseUrl)
  reply
    .header('deprecation', `@${DEPRECATED_AT}`)
    .header('link', `<${about}>; rel="deprecation"; type="text/html"`)
    .header('access-control-expose-headers', 'ETag, Deprecation, Link')
}

export interface PlainLookupDeps extends Omit<PlainDeps, 'naming'> {
  readonly read: ReadDeps
}

/** Answers plain lookups of agents in memory ahead of the router. */
export function answerPlainLookups({ read, ...deps }: PlainLookupDeps): AheadOfRouter {
  return plainAnswers(
    { ...deps, naming: read.site.naming },
    { url: LOOKUP_URL, cacheControl: REVALIDATE },
    (tail) => {
      const view = read.readModel.inMemory(tail)
      const text = view && lookupText(read.site, view, read.now())
      if (text === null) return null
      const { json, tag } = text
      return {
        headers: ['etag', `"${tag}"`, 'content-type', JSON_UTF8],
        body: json,
        length: json.length,
      }
    },
  )
}

const IDENTIFY_URL = '/api/v1/identify'

/** Echoes what the identification header of the request says to a gateway (contract section 5). */
export function identifyRoute(app: App, deps: ReadDeps): void {
  const { naming } = deps.site
  const header = naming.idHeader.toLowerCase()
  app.get(IDENTIFY_URL, {
    schema: {
      operationId: 'identify',
      summary: `Look up the agent of the ${naming.idHeader} header of this request`,
      tags: ['check'],
      // Optional in the schema, so that the handler reports a missing header in its own words.
      headers: Type.Object({
        [header]: Type.Optional(Type.String({ description: 'a DID or its 24-character tail' })),
      }),
      response: { 200: identifySchema(naming), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    onRequest: allowAnyOrigin,
    handler: async (request, reply) => {
      const value = request.headers[header]
      if (typeof value !== 'string') {
        throw new CodedError('VALIDATION_ERROR', `Send the header ${naming.idHeader}: <DID>.`)
      }
      const tail = parseIdentificationHeader(naming, value)
      const view = await findOrThrow(deps, { kind: 'tail', tail })
      reply.header('cache-control', 'no-store').header('vary', naming.idHeader)
      return identificationOf(deps.site, view, deps.now())
    },
  })
  answerPreflight(app, naming, IDENTIFY_URL, 'GET, HEAD, OPTIONS')
}
