import {
  type ClaimRequest,
  claimRequestSchema,
  claimResponseSchema,
  type Did,
  errorSchema,
  type Naming,
} from '@countersign/protocol'
import type { App } from '../core/http/server.ts'

export interface ClaimRouteDeps {
  readonly naming: Naming
  readonly claim: (request: ClaimRequest) => Promise<Did>
}

/** Contract 4.4. No CORS: a claim is signed by whoever holds the key, and that is no web page. */
export function claimRoute(app: App, { naming, claim }: ClaimRouteDeps): void {
  app.post('/api/v1/claim', {
    schema: {
      operationId: 'claim',
      summary: 'Redeem a claim token for a DID',
      tags: ['claim'],
      body: claimRequestSchema(naming),
      response: { 200: claimResponseSchema(naming), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: async (request, reply) => {
      const did = await claim(request.body)
      reply.header('cache-control', 'no-store')
      return { success: true as const, message: 'The agent is certified.', [naming.didField]: did }
    },
  })
}
