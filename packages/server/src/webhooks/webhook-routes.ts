import {
  createdWebhookSchema,
  newWebhookSchema,
  newWebhookSecretSchema,
  WEBHOOK_DELIVERY_STATES,
  webhookDeliveriesSchema,
  webhookDeliverySchema,
  webhookPatchSchema,
  webhookSchema,
  webhooksSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import {
  forApiKeys,
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../accounts/owners/owner-routes.ts'
import type { Site } from '../base/site.ts'
import { CACHE_ONE_MINUTE } from '../http/caching.ts'
import { publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import type { DeliveryDeps } from './attempt.ts'
import { listDeliveries } from './delivery-log.ts'
import {
  changeEndpoint,
  createEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
} from './manage-endpoints.ts'
import { redeliver, sendTest } from './manual-deliveries.ts'

const endpointParams = () => Type.Object({ id: Type.String({ description: 'as the list has it' }) })
const deliveryParams = () =>
  Type.Object({ ...endpointParams().properties, delivery: Type.String({ description: 'its id' }) })

/** Registers the routes of an owner's webhook endpoints and of their deliveries. */
export function webhookRoutes(
  app: App,
  { deps, authenticator }: Pick<OwnerRouteContext<DeliveryDeps>, 'deps' | 'authenticator'>,
): void {
  const { naming } = deps.site

  app.get('/api/account/webhooks', {
    schema: ownerSchema({
      operationId: 'listWebhooks',
      summary: 'The webhook endpoints of the owner, without their secrets',
      ...forApiKeys('webhooks:read'),
      response: { 200: webhooksSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listEndpoints(deps, ownerId)
    },
  })

  app.post('/api/account/webhooks', {
    schema: ownerSchema({
      operationId: 'createWebhook',
      summary:
        'Create a webhook endpoint, for events from now on; a session needs a recent sign-in',
      ...forApiKeys('webhooks:write'),
      body: newWebhookSchema(),
      response: { 201: createdWebhookSchema() },
    }),
    handler: async (request, reply) => {
      const by = await authenticator.recentOwner(request)
      return reply.code(201).send(await createEndpoint(deps, by, request.body))
    },
  })

  app.patch('/api/account/webhooks/:id', {
    schema: ownerSchema({
      operationId: 'changeWebhook',
      summary:
        'Change, pause or activate a webhook endpoint; in a session, a new URL needs a recent sign-in',
      ...forApiKeys('webhooks:write'),
      params: endpointParams(),
      body: webhookPatchSchema(),
      response: { 200: webhookSchema() },
    }),
    handler: async (request) => {
      const { params, body } = request
      const isMove = body.url !== undefined
      const by = await (isMove ? authenticator.recentOwner(request) : authenticator.owner(request))
      return changeEndpoint(deps, by, params.id, body)
    },
  })

  app.delete('/api/account/webhooks/:id', {
    schema: ownerSchema({
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook endpoint with its delivery log',
      ...forApiKeys('webhooks:write'),
      params: endpointParams(),
      response: { 204: noContent('Deleted') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.owner(request)
      await removeEndpoint(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })

  app.post('/api/account/webhooks/:id/rotate-secret', {
    schema: ownerSchema({
      operationId: 'rotateWebhookSecret',
      summary: 'Give a webhook endpoint another secret; the response has it, once',
      ...forApiKeys('webhooks:write'),
      params: endpointParams(),
      body: newWebhookSecretSchema(),
      response: { 200: createdWebhookSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return rotateSecret(deps, ownerId, request.params.id, request.body)
    },
  })

  app.post('/api/account/webhooks/:id/test', {
    schema: ownerSchema({
      operationId: 'testWebhook',
      summary: 'Send a test delivery now; the response has its result',
      ...forApiKeys('webhooks:write'),
      params: endpointParams(),
      response: { 200: webhookDeliverySchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return sendTest(deps, ownerId, request.params.id)
    },
  })

  app.get('/api/account/webhooks/:id/deliveries', {
    schema: ownerSchema({
      operationId: 'listWebhookDeliveries',
      summary: 'The deliveries of the last 30 days, newest first',
      ...forApiKeys('webhooks:read'),
      params: endpointParams(),
      querystring: Type.Object({
        before: Type.Optional(Type.String({ description: '`next` of the previous page' })),
        state: Type.Optional(Type.Enum([...WEBHOOK_DELIVERY_STATES], { type: 'string' })),
      }),
      response: { 200: webhookDeliveriesSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listDeliveries(deps, ownerId, request.params.id, request.query)
    },
  })

  app.post('/api/account/webhooks/:id/deliveries/:delivery/redeliver', {
    schema: ownerSchema({
      operationId: 'redeliverWebhook',
      summary: 'Send a delivery of the log again, now; the response has its result',
      ...forApiKeys('webhooks:write'),
      params: deliveryParams(),
      response: { 200: webhookDeliverySchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return redeliver(deps, ownerId, request.params.id, request.params.delivery)
    },
  })
}

/** The metadata of the transmitter of Security Event Tokens (SSF 1.0 section 7). Owners create their streams in the dashboard. */
export function transmitterRoute(app: App, { naming, baseUrl }: Site): void {
  const metadata = {
    spec_version: '1_0',
    issuer: baseUrl,
    jwks_uri: `${baseUrl}/.well-known/jwks.json`,
    delivery_methods_supported: ['urn:ietf:rfc:8935'],
    default_subjects: 'ALL',
  }
  publicRead(app, naming, {
    url: '/.well-known/ssf-configuration',
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'ssfConfiguration',
      summary: 'How this service sends Security Event Tokens (Shared Signals Framework 1.0)',
      tags: ['resolve'],
      response: {
        200: Type.Object(
          {
            spec_version: Type.String(),
            issuer: Type.String({ description: 'as in the claim iss of tokens' }),
            jwks_uri: Type.String({ description: 'the address of the keys that sign them' }),
            delivery_methods_supported: Type.Array(Type.String()),
            default_subjects: Type.String({
              description: 'all agents of the owner whose endpoint it is',
            }),
          },
          { description: 'The metadata of the transmitter' },
        ),
      },
    },
    handler: async () => metadata,
  })
}
