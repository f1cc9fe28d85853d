import { CLAIM_TOKEN_LIFETIME_MS, emptyBody, issuedTokenSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { timestamp } from '../core/timestamp.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { issueToken } from './issue-token.ts'

/** Contract 4.8; its shape is in docs/contract-notes.md. */
export function issueTokenRoute(app: App, { deps, signedIn }: OwnerSide): void {
  const { naming } = deps.site
  app.post('/api/agents/token', {
    schema: ownerSchema({
      operationId: 'issueToken',
      summary: 'Issue a claim token, which invalidates the one before it',
      body: emptyBody(),
      response: { 201: issuedTokenSchema(naming) },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.require(request)
      const { claimToken, expiresAt } = await issueToken({ ...deps, naming }, ownerId)
      return reply.code(201).send({
        claimToken,
        expiresAt: timestamp(expiresAt),
        expiresIn: CLAIM_TOKEN_LIFETIME_MS / 1000,
      })
    },
  })
}
