import {
  CLAIM_TOKEN_LIFETIME_MS,
  type ClaimRequest,
  claimRequestSchema,
  claimResponseSchema,
  type Did,
  emptyBody,
  errorSchema,
  issuedTokenSchema,
  issuedTokensSchema,
  type Naming,
  tokenBatchRequestSchema,
} from '@countersign/protocol'
import {
  forApiKeys,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import { assertSignInForClaimToken } from '../../accounts/owners/session.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { App } from '../../http/server.ts'
import { issueToken, issueTokens } from './issue-token.ts'

export interface ClaimRouteDeps {
  readonly naming: Naming
  readonly claim: (request: ClaimRequest) => Promise<Did>
}

/** Redeems a claim token (contract 4.4). No CORS: agents claim, not web pages. */
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

/** Issues claim tokens to the signed-in owner (contract 4.8 and docs/contract/endpoints.md). */
export function issueTokenRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  const { naming } = deps.site
  app.post('/api/agents/token', {
    schema: ownerSchema({
      ...forApiKeys('claim_tokens:create'),
      operationId: 'issueToken',
      summary:
        'Create a claim token, which invalidates the previous one; needs a sign-in of the last 12 hours',
      body: emptyBody(),
      response: { 201: issuedTokenSchema(naming) },
    }),
    handler: async (request, reply) => {
      const owner = await authenticator.owner(request)
      if ('signedInAt' in owner) assertSignInForClaimToken(owner, deps.now())
      const { ownerId, membership } = owner
      const { claimToken, expiresAt } = await issueToken(
        { ...deps, naming },
        ownerId,
        membership?.id,
      )
      return reply.code(201).send({
        claimToken,
        expiresAt: timestamp(expiresAt),
        expiresIn: CLAIM_TOKEN_LIFETIME_MS / 1000,
      })
    },
  })

  app.post('/api/agents/tokens', {
    schema: ownerSchema({
      ...forApiKeys('claim_tokens:create'),
      operationId: 'issueTokens',
      summary:
        'Create up to 100 claim tokens, which invalidate earlier unused ones; needs a sign-in of the last 12 hours',
      body: tokenBatchRequestSchema(),
      response: { 201: issuedTokensSchema(naming) },
    }),
    handler: async (request, reply) => {
      const owner = await authenticator.owner(request)
      if ('signedInAt' in owner) assertSignInForClaimToken(owner, deps.now())
      const { ownerId, membership } = owner
      const issued = await issueTokens(
        { ...deps, naming },
        ownerId,
        request.body.count,
        membership?.id,
      )
      return reply.code(201).send({
        claimTokens: [...issued.claimTokens],
        expiresAt: timestamp(issued.expiresAt),
        expiresIn: CLAIM_TOKEN_LIFETIME_MS / 1000,
      })
    },
  })
}
