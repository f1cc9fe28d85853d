import {
  emailPreferencePatchSchema,
  emailSettingsSchema,
  emptyBody,
  isSecurityKind,
  newEmailAddressSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../../http/server.ts'
import { noContent, type OwnerRouteContext, ownerSchema } from '../owners/owner-routes.ts'
import type { NotificationDeps } from './email-addresses.ts'
import { addAddress, removeAddress, resendLink } from './email-addresses.ts'
import { changePreference, describeEmailSettings } from './email-preferences.ts'

const addressParams = Type.Object({ id: Type.String({ description: 'the id in the list' }) })

/** Registers the routes of an owner's e-mail addresses and preferences. */
export function emailRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<NotificationDeps>,
): void {
  app.get('/api/account/email', {
    schema: ownerSchema({
      operationId: 'emailSettings',
      summary: 'Get the e-mail addresses and preferences',
      response: { 200: emailSettingsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return describeEmailSettings(deps, ownerId)
    },
  })

  app.post('/api/account/email/addresses', {
    schema: ownerSchema({
      operationId: 'addEmailAddress',
      summary: 'Add an e-mail address, and send a link that verifies it; needs a recent sign-in',
      body: newEmailAddressSchema(),
      response: { 201: emailSettingsSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      await addAddress(deps, session, request.body.address)
      return reply.code(201).send(await describeEmailSettings(deps, session.ownerId))
    },
  })

  app.post('/api/account/email/addresses/:id/link', {
    schema: ownerSchema({
      operationId: 'resendEmailLink',
      summary: 'Send another link that verifies an address',
      params: addressParams,
      body: emptyBody(),
      response: { 204: noContent('Queued') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      await resendLink(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })

  app.delete('/api/account/email/addresses/:id', {
    schema: ownerSchema({
      operationId: 'removeEmailAddress',
      summary: 'Remove an e-mail address; needs a recent sign-in',
      params: addressParams,
      response: { 204: noContent('Removed') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      await removeAddress(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })

  app.patch('/api/account/email/preferences', {
    schema: ownerSchema({
      operationId: 'setEmailPreference',
      summary:
        'Choose whether a kind of notification is sent by e-mail; to turn off one about security needs a recent sign-in',
      body: emailPreferencePatchSchema(),
      response: { 200: emailSettingsSchema() },
    }),
    handler: async (request) => {
      const { kind, enabled } = request.body
      const isSensitive = isSecurityKind(kind) && !enabled
      const { ownerId } = isSensitive
        ? await authenticator.requireRecentSession(request)
        : await authenticator.requireSession(request)
      await changePreference(deps, ownerId, { kind, enabled })
      return describeEmailSettings(deps, ownerId)
    },
  })
}
