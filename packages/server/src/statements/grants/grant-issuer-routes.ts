import {
  agentGrantsSchema,
  grantAssignmentSchema,
  grantIssuerSchema,
  grantIssuersSchema,
  newGrantIssuerSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import {
  forApiKeys,
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import { OWN_AGENT, ownAgentParam } from '../../agents/find-agent.ts'
import type { App } from '../../http/server.ts'
import {
  assignIssuer,
  createIssuer,
  describeAgentGrants,
  type GrantIssuerDeps,
  listIssuers,
  removeIssuer,
} from './manage-issuers.ts'

/** Registers the routes of an owner's grant issuers, and of which agents are assigned to them. */
export function grantIssuerRoutes(
  app: App,
  { deps, signedIn }: Pick<OwnerRouteContext<GrantIssuerDeps>, 'deps' | 'signedIn'>,
): void {
  app.get('/api/account/grant-issuers', {
    schema: ownerSchema({
      operationId: 'listGrantIssuers',
      summary: 'The grant issuers of the owner',
      ...forApiKeys('grants:read'),
      response: { 200: grantIssuersSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.owner(request)
      return { issuers: await listIssuers(deps, ownerId) }
    },
  })

  app.post('/api/account/grant-issuers', {
    schema: ownerSchema({
      operationId: 'createGrantIssuer',
      summary: 'Create a grant issuer, with a random URL and keys of its own',
      ...forApiKeys('grants:write'),
      body: newGrantIssuerSchema(),
      response: { 201: grantIssuerSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.owner(request)
      return reply.code(201).send(await createIssuer(deps, ownerId, request.body))
    },
  })

  app.delete('/api/account/grant-issuers/:id', {
    schema: ownerSchema({
      operationId: 'deleteGrantIssuer',
      summary: 'Delete a grant issuer; its agents get no more grants',
      ...forApiKeys('grants:write'),
      params: Type.Object({ id: Type.String({ description: 'as the list has it' }) }),
      response: { 204: noContent('Deleted') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.owner(request)
      await removeIssuer(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })

  app.get(`${OWN_AGENT}/grants`, {
    schema: ownerSchema({
      operationId: 'agentGrants',
      summary: 'The grant issuer of an agent, and the authorization servers it got grants for',
      ...forApiKeys('grants:read'),
      params: ownAgentParam(),
      response: { 200: agentGrantsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.owner(request)
      return describeAgentGrants(deps, ownerId, request.params.agent)
    },
  })

  app.put(`${OWN_AGENT}/grant-issuer`, {
    schema: ownerSchema({
      operationId: 'assignGrantIssuer',
      summary: 'Choose the issuer that signs the grants of an agent; null: none',
      ...forApiKeys('grants:write'),
      params: ownAgentParam(),
      body: grantAssignmentSchema(),
      response: { 200: agentGrantsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.owner(request)
      return assignIssuer(deps, ownerId, request.params.agent, request.body)
    },
  })
}
