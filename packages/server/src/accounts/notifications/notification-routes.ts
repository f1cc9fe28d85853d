import { notificationsSchema, readNotificationsSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../../http/server.ts'
import { noContent, type OwnerRouteContext, ownerSchema } from '../owners/owner-routes.ts'
import type { NotificationDeps } from './email-addresses.ts'
import { emailRoutes } from './email-routes.ts'
import { listNotifications, readNotifications } from './list-notifications.ts'

/** Registers the routes of an owner's notifications, e-mail addresses and preferences. */
export function notificationRoutes(app: App, context: OwnerRouteContext<NotificationDeps>): void {
  const { deps, authenticator } = context
  app.get('/api/account/notifications', {
    schema: ownerSchema({
      operationId: 'notifications',
      summary: "List the owner's notifications, newest first",
      querystring: Type.Object({
        before: Type.Optional(Type.String({ description: '`next` of the previous page' })),
      }),
      response: { 200: notificationsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return listNotifications(deps, ownerId, request.query.before)
    },
  })

  app.post('/api/account/notifications/read', {
    schema: ownerSchema({
      operationId: 'readNotifications',
      summary: 'Mark notifications as read',
      body: readNotificationsSchema(),
      response: { 204: noContent('Marked') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      await readNotifications(deps, ownerId, request.body.ids ?? null)
      return reply.code(204).send(null as never)
    },
  })
  emailRoutes(app, context)
}
