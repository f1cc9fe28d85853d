import {
  errorSchema,
  type Naming,
  type VerifyRequest,
  type VerifyResponse,
  verifyRequestSchema,
  verifyResponseSchema,
} from '@countersign/protocol'
import { allowAnyOrigin, answerPreflight } from '../core/http/cors.ts'
import type { App } from '../core/http/server.ts'

const URL = '/api/v1/agent/verify'

export interface VerifyRouteDeps {
  readonly naming: Naming
  readonly verify: (request: VerifyRequest) => Promise<VerifyResponse>
}

/** Verifies proof of possession of an agent's key (contract 4.3). */
export function verifyRoute(app: App, { naming, verify }: VerifyRouteDeps): void {
  app.post(URL, {
    schema: {
      operationId: 'verify',
      summary: 'Check that an agent controls its key',
      tags: ['check'],
      body: verifyRequestSchema(naming),
      response: { 200: verifyResponseSchema(naming), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    onRequest: allowAnyOrigin,
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return verify(request.body)
    },
  })
  answerPreflight(app, naming, URL, 'POST, OPTIONS')
}
