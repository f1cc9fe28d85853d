import { createdScimTokenSchema, scimTokensSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../../../http/server.ts'
import { noContent, type OwnerRouteContext, ownerSchema } from '../../owners/owner-routes.ts'
import { createScimToken, endScimToken, listScimTokens, type ScimDeps } from './scim-tokens.ts'

const URL = '/api/account/scim-tokens'

/** Registers the routes of the tokens with which an identity provider manages the users of an organisation. */
export function scimTokenRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<ScimDeps>,
): void {
  app.get(URL, {
    schema: ownerSchema({
      operationId: 'listScimTokens',
      summary: 'List the SCIM tokens of the organisation, without their secrets',
      response: { 200: scimTokensSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireMember(request)
      return listScimTokens(deps, ownerId)
    },
  })

  app.post(URL, {
    schema: ownerSchema({
      operationId: 'createScimToken',
      summary: 'Create a SCIM token; needs a recent sign-in and single sign-on',
      response: { 201: createdScimTokenSchema(deps.site.naming) },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentMember(request)
      return reply.code(201).send(await createScimToken(deps, session))
    },
  })

  app.delete(`${URL}/:id`, {
    schema: ownerSchema({
      operationId: 'endScimToken',
      summary: 'End a SCIM token; needs a recent sign-in',
      params: Type.Object({ id: Type.String({ description: 'the id in the list' }) }),
      response: { 204: noContent('Ended') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireRecentMember(request)
      await endScimToken(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })
}
