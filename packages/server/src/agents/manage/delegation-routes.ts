import {
  type DelegationsEnded,
  delegationPermissionSchema,
  delegationRequestSchema,
  delegationsEndedSchema,
  type EndDelegationsRequest,
  emptyBody,
  endDelegationsRequestSchema,
  errorSchema,
  type Naming,
  ownDelegationsEndedSchema,
} from '@countersign/protocol'
import {
  forApiKeys,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import { OWN_AGENT, ownAgentParam } from '../find-agent.ts'
import { allowDelegation, type DelegationDeps, endOwnDelegations } from './delegation.ts'

export interface EndDelegationsRouteDeps {
  readonly naming: Naming
  readonly endDelegations: (
    reference: string,
    request: EndDelegationsRequest,
  ) => Promise<DelegationsEnded>
}

/** The route by which an agent ends its delegations. The signature alone authenticates it. No CORS: agents call it, not web pages. */
export function endDelegationsRoute(
  app: App,
  { naming, endDelegations }: EndDelegationsRouteDeps,
): void {
  app.post('/api/v1/agent/:agent/delegation/end', {
    schema: {
      operationId: 'endDelegations',
      summary: "End all delegations with the agent's own key; 60 an hour",
      tags: ['claim'],
      params: ownAgentParam(),
      body: endDelegationsRequestSchema(),
      response: { 200: delegationsEndedSchema(naming), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return endDelegations(request.params.agent, request.body)
    },
  })
}

/** The routes by which the signed-in owner allows an agent to delegate, and ends its delegations. */
export function ownDelegationRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<DelegationDeps>,
): void {
  app.put(`${OWN_AGENT}/delegation`, {
    schema: ownerSchema({
      ...forApiKeys('agents:write'),
      operationId: 'allowDelegation',
      summary:
        'Set how many hops a chain of an agent may have; to raise it, a session needs a recent sign-in',
      params: ownAgentParam(),
      body: delegationRequestSchema(),
      response: { 200: delegationPermissionSchema() },
    }),
    handler: async (request) => {
      const caller = await authenticator.owner(request)
      return allowDelegation(deps, caller, request.params.agent, request.body.maxDepth)
    },
  })

  app.post(`${OWN_AGENT}/delegation/end`, {
    schema: ownerSchema({
      ...forApiKeys('agents:status'),
      operationId: 'endOwnDelegations',
      summary: 'End all delegations of an agent; 60 an hour',
      params: ownAgentParam(),
      body: emptyBody(),
      response: { 200: ownDelegationsEndedSchema() },
    }),
    handler: async (request) => {
      const caller = await authenticator.owner(request)
      return endOwnDelegations(deps, caller, request.params.agent)
    },
  })
}
