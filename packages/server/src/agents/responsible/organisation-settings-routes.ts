import { organisationSettingsSchema } from '@countersign/protocol'
import { type OwnerRouteContext, ownerSchema } from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import { changeSettings, readSettings } from './organisation-settings.ts'

const PATH = '/api/account/organisation'

/** Registers the routes of the settings of an organisation. */
export function organisationSettingsRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext,
): void {
  app.get(PATH, {
    schema: ownerSchema({
      operationId: 'organisationSettings',
      summary: 'Get the settings of the organisation',
      response: { 200: organisationSettingsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireMember(request)
      return readSettings(deps, ownerId)
    },
  })

  app.patch(PATH, {
    schema: ownerSchema({
      operationId: 'editOrganisation',
      summary: 'Change the settings of the organisation',
      body: organisationSettingsSchema(),
      response: { 200: organisationSettingsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireMember(request)
      return changeSettings(deps, ownerId, request.body)
    },
  })
}
