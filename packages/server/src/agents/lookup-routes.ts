import {
  CodedError,
  errorSchema,
  identifySchema,
  lookupSchema,
  parseIdentificationHeader,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { REVALIDATE } from '../http/caching.ts'
import { allowAnyOrigin, answerPreflight } from '../http/cors.ts'
import { type PlainDeps, plainAnswers } from '../http/plain-answers.ts'
import { agentParam, publicRead } from '../http/public-read.ts'
import type { AheadOfRouter, App } from '../http/server.ts'
import { findAgent, findOrThrow, type ReadDeps } from './find-agent.ts'
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
      tags: ['check'],
      params: agentParam('agent'),
      response: { 200: lookupSchema(deps.site.naming) },
    },
    handler: async (params: { agent: string }, reply) => {
      const view = await findAgent(deps, params.agent)
      const lookup = lookupOf(deps.site, view, deps.now())
      reply.header('etag', `"${lookupTag(lookup, view)}"`)
      return lookup
    },
  })
}

export interface PlainLookupDeps extends Omit<PlainDeps, 'naming'> {
  readonly read: ReadDeps
}

/** Answers plain lookups of agents in memory ahead of the router. */
export function answerPlainLookups({ read, ...deps }: PlainLookupDeps): AheadOfRouter {
  return plainAnswers({ ...deps, naming: read.site.naming }, LOOKUP_URL, (tail) => {
    const view = read.readModel.inMemory(tail)
    const text = view && lookupText(read.site, view, read.now())
    if (text === null) return null
    const headers = { etag: `"${text.tag}"`, 'content-type': 'application/json; charset=utf-8' }
    return { headers, body: text.json }
  })
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
