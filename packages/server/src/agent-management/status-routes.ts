import { ownerAgentSchema, statusRequestSchema } from '@countersign/protocol'
import { OWN_AGENT, ownAgentParam } from '../agents/own-agent-param.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { changeOwnStatus } from './own-status.ts'

const CHANGES = [
  { verb: 'suspend', to: 'suspended', summary: 'Take an agent out of service, for now' },
  { verb: 'reactivate', to: 'active', summary: 'Put a suspended agent back into service' },
  { verb: 'revoke', to: 'revoked', summary: 'End a certificate, for good' },
] as const

/** Suspending, reactivating, revoking. */
export function statusRoutes(app: App, { deps, signedIn }: OwnerSide): void {
  for (const { verb, to, summary } of CHANGES) {
    app.post(`${OWN_AGENT}/${verb}`, {
      schema: ownerSchema({
        operationId: `${verb}Agent`,
        summary,
        params: ownAgentParam(),
        body: statusRequestSchema(),
        response: { 200: ownerAgentSchema(deps.site.naming) },
      }),
      handler: async (request) => {
        const { ownerId } = await signedIn.require(request)
        const { reason = null } = request.body
        return changeOwnStatus(deps, ownerId, request.params.agent, { to, reason })
      },
    })
  }
}
