import {
  type DelegationGroup,
  type DelegationGroupEnded,
  delegationGroupEndedSchema,
  delegationGroupSchema,
  emptyBody,
  errorSchema,
  type NewDelegationGroup,
  newDelegationGroupSchema,
  ownDelegationGroupsSchema,
  type RawRequest,
} from '@countersign/protocol'
import { Type } from 'typebox'
import {
  forApiKeys,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import { OWN_AGENT, ownAgentParam } from '../../agents/find-agent.ts'
import { receivedOf } from '../../http/received-request.ts'
import type { App } from '../../http/server.ts'
import {
  type DelegationGroupDeps,
  endOwnDelegationGroup,
  listDelegationGroups,
} from './delegation-groups.ts'

export interface DelegationGroupRouteDeps {
  readonly createGroup: (
    reference: string,
    received: RawRequest,
    group: NewDelegationGroup,
  ) => Promise<DelegationGroup>
  readonly endGroup: (
    reference: string,
    received: RawRequest,
    id: string,
  ) => Promise<DelegationGroupEnded>
  /** The service's own origin. */
  readonly baseUrl: string
}

const groupParams = () =>
  Type.Object({
    ...ownAgentParam().properties,
    id: Type.String({ description: 'of the group' }),
  })

/** The routes by which an agent creates and ends groups of delegations. No CORS: agents call them, not web pages. */
export function delegationGroupRoutes(
  app: App,
  { createGroup, endGroup, baseUrl }: DelegationGroupRouteDeps,
): void {
  app.post('/api/v1/agent/:agent/delegations', {
    schema: {
      operationId: 'createDelegationGroup',
      summary: 'Get a certificate for a group of delegations, which ends alone; a signed request',
      tags: ['claim'],
      params: ownAgentParam(),
      body: newDelegationGroupSchema(),
      response: { 201: delegationGroupSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { agent } = request.params
      const created = await createGroup(agent, receivedOf(request, baseUrl), request.body)
      return reply.code(201).send(created)
    },
  })

  app.post('/api/v1/agent/:agent/delegations/:id/end', {
    schema: {
      operationId: 'endDelegationGroup',
      summary: 'End one group of delegations; a signed request',
      tags: ['claim'],
      params: groupParams(),
      body: emptyBody(),
      response: { 200: delegationGroupEndedSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { agent, id } = request.params
      return endGroup(agent, receivedOf(request, baseUrl), id)
    },
  })
}

/** The routes by which the signed-in owner sees and ends groups of delegations. */
export function ownDelegationGroupRoutes(
  app: App,
  {
    deps,
    authenticator,
  }: Pick<
    OwnerRouteContext<Pick<DelegationGroupDeps, 'db' | 'site' | 'now'>>,
    'deps' | 'authenticator'
  >,
): void {
  app.get(`${OWN_AGENT}/delegations`, {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'ownDelegationGroups',
      summary: 'The groups of delegations of an agent that have neither ended nor expired',
      params: ownAgentParam(),
      response: { 200: ownDelegationGroupsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listDelegationGroups(deps, ownerId, request.params.agent)
    },
  })

  app.post(`${OWN_AGENT}/delegations/:id/end`, {
    schema: ownerSchema({
      ...forApiKeys('agents:status'),
      operationId: 'endOwnDelegationGroup',
      summary: 'End one group of delegations of an agent',
      params: groupParams(),
      body: emptyBody(),
      response: { 200: delegationGroupEndedSchema() },
    }),
    handler: async (request) => {
      const caller = await authenticator.owner(request)
      const { agent, id } = request.params
      return endOwnDelegationGroup(deps, caller, agent, id)
    },
  })
}
