import {
  CodedError,
  errorSchema,
  identifySchema,
  parseIdentificationHeader,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { allowAnyOrigin, answerPreflight } from '../core/http/cors.ts'
import type { App } from '../core/http/server.ts'
import { findOrRefuse, type ReadDeps } from './find-agent.ts'
import { identificationOf } from './identify.ts'

const URL = '/api/v1/identify'

/** What a gateway sees in the identification header that the caller sent (contract section 5). */
export function identifyRoute(app: App, deps: ReadDeps): void {
  const { naming } = deps.site
  const header = naming.idHeader.toLowerCase()
  app.get(URL, {
    schema: {
      operationId: 'identify',
      summary: `What the ${naming.idHeader} header of this request says`,
      tags: ['check'],
      // Optional here: the one parser of the header says what is missing.
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
      const view = await findOrRefuse(deps, { kind: 'tail', tail })
      reply.header('cache-control', 'no-store').header('vary', naming.idHeader)
      return identificationOf(deps.site, view, deps.now())
    },
  })
  answerPreflight(app, naming, URL, 'GET, HEAD, OPTIONS')
}
