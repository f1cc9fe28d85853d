import {
  agentKeysSchema,
  contestRequestSchema,
  emptyBody,
  ownKeyReportSchema,
  recoveryTokenSchema,
  startRecoveryRequestSchema,
} from '@countersign/protocol'
import {
  forApiKeys,
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import type { OwnerDeps } from '../../accounts/providers/providers.ts'
import type { App } from '../../http/server.ts'
import { OWN_AGENT, ownAgentParam } from '../find-agent.ts'
import { takeFromRevocationQuota } from '../manage/revocation-quota.ts'
import { contest } from './contest.ts'
import type { KeyReuse } from './key-use.ts'
import { reportByOwner } from './report-key.ts'
import { cancelRecovery, reissueToken, startRecovery } from './start-recovery.ts'

/** Registers the routes by which the signed-in owner contests rotations and recovers keys, which need a recent sign-in, and reports keys. */
export function ownKeyRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<OwnerDeps & { readonly keyReuse: KeyReuse }>,
): void {
  const { naming } = deps.site
  app.post(`${OWN_AGENT}/keys/contest`, {
    schema: ownerSchema({
      operationId: 'contestKeys',
      summary: 'Contest the rotations of an agent of the last 72 hours; needs a recent sign-in',
      params: ownAgentParam(),
      body: contestRequestSchema(),
      response: { 200: agentKeysSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      return contest(deps, ownerId, request.params.agent, request.body)
    },
  })

  app.post(`${OWN_AGENT}/keys/compromised`, {
    schema: ownerSchema({
      ...forApiKeys('agents:revoke'),
      operationId: 'reportOwnKey',
      summary:
        'Report a current or former key of an agent as compromised; 10 an hour with an API key',
      params: ownAgentParam(),
      body: ownKeyReportSchema(),
      response: { 200: agentKeysSchema(naming) },
    }),
    handler: async (request) => {
      const caller = await authenticator.owner(request)
      await takeFromRevocationQuota(deps, caller)
      return reportByOwner(deps, caller.ownerId, request.params.agent, request.body.sequence)
    },
  })

  app.post(`${OWN_AGENT}/recovery`, {
    schema: ownerSchema({
      operationId: 'startRecovery',
      summary:
        "Start the recovery of an agent's key; needs a recent sign-in with a passkey or provider added 72 hours ago, or the passkey that created the account",
      params: ownAgentParam(),
      body: startRecoveryRequestSchema(),
      response: { 201: recoveryTokenSchema(naming) },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      const { agent } = request.params
      return reply.code(201).send(await startRecovery(deps, session, agent, request.body.reason))
    },
  })

  app.post(`${OWN_AGENT}/recovery/token`, {
    schema: ownerSchema({
      operationId: 'reissueRecoveryToken',
      summary: 'Create a new token for the pending recovery; needs the same sign-in as its start',
      params: ownAgentParam(),
      body: emptyBody(),
      response: { 201: recoveryTokenSchema(naming) },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      return reply.code(201).send(await reissueToken(deps, session, request.params.agent))
    },
  })

  app.delete(`${OWN_AGENT}/recovery`, {
    schema: ownerSchema({
      operationId: 'cancelRecovery',
      summary: 'Cancel the pending recovery; needs a recent sign-in',
      params: ownAgentParam(),
      response: { 204: noContent('The recovery has ended; a burned key stays burned') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      await cancelRecovery(deps, ownerId, request.params.agent)
      return reply.code(204).send(null as never)
    },
  })
}
