import { apiKeysSchema, createdApiKeySchema, newApiKeySchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../../http/server.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { createApiKey, type KeyRemains, listApiKeys, revokeApiKey } from './api-keys.ts'
import { noContent, type OwnerRouteContext, ownerSchema } from './owner-routes.ts'

/** Registers the routes of the signed-in owner's API keys, which no API key can use. */
export function apiKeyRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<OwnerDeps & KeyRemains>,
): void {
  app.get('/api/account/api-keys', {
    schema: ownerSchema({
      operationId: 'listApiKeys',
      summary: 'List the API keys of the owner, without their secrets',
      response: { 200: apiKeysSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return { apiKeys: await listApiKeys(deps, ownerId) }
    },
  })

  app.post('/api/account/api-keys', {
    schema: ownerSchema({
      operationId: 'createApiKey',
      summary: 'Create an API key; needs a recent sign-in',
      body: newApiKeySchema(),
      response: { 201: createdApiKeySchema(deps.site.naming) },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      return reply.code(201).send(await createApiKey(deps, session, request.body))
    },
  })

  app.delete('/api/account/api-keys/:id', {
    schema: ownerSchema({
      operationId: 'revokeApiKey',
      summary: 'Revoke an API key',
      params: Type.Object({ id: Type.String({ description: 'the id in the list' }) }),
      querystring: Type.Object({
        disableWebhooks: Type.Optional(
          Type.Enum(['true', 'false'], {
            type: 'string',
            description: 'whether to disable the webhook endpoints that the key created',
          }),
        ),
      }),
      response: { 204: noContent('Revoked') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      const { disableWebhooks } = request.query
      await revokeApiKey(deps, ownerId, request.params.id, disableWebhooks === 'true')
      return reply.code(204).send(null as never)
    },
  })
}
