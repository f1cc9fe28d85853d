import {
  errorSchema,
  type Naming,
  type SignedRequest,
  type SignedRequestVerdict,
  signedRequestSchema,
  signedRequestVerdictSchema,
  type VerifyRequest,
  type VerifyResponse,
  verifyRequestSchema,
  verifyResponseSchema,
} from '@countersign/protocol'
import { allowAnyOrigin, answerPreflight } from '../../http/cors.ts'
import type { App } from '../../http/server.ts'

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

const REQUEST_URL = '/api/v1/verify-request'
/** Node's limit for the header fields of a request is 16 KiB. JSON adds quotes and escapes. */
const REQUEST_BODY_LIMIT = 32 * 1024

export interface VerifyRequestRouteDeps {
  readonly naming: Naming
  readonly verifyRequest: (request: SignedRequest) => Promise<SignedRequestVerdict>
}

/** Verifies the signature of a request, for sites in languages without a verifier. */
export function verifyRequestRoute(
  app: App,
  { naming, verifyRequest }: VerifyRequestRouteDeps,
): void {
  app.post(REQUEST_URL, {
    bodyLimit: REQUEST_BODY_LIMIT,
    schema: {
      operationId: 'verifyRequest',
      summary: 'Check the signature of a request that you received',
      tags: ['check'],
      body: signedRequestSchema(),
      response: {
        200: signedRequestVerdictSchema(naming),
        '4xx': errorSchema(),
        '5xx': errorSchema(),
      },
    },
    onRequest: allowAnyOrigin,
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return verifyRequest(request.body)
    },
  })
  answerPreflight(app, naming, REQUEST_URL, 'POST, OPTIONS')
}
