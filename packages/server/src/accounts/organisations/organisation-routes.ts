import {
  createdOrganisationSchema,
  membersSchema,
  newOrganisationSchema,
} from '@countersign/protocol'
import type { App } from '../../http/server.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { type OwnerRouteContext, ownerSchema } from '../owners/owner-routes.ts'
import { createOrganisation, listMembers, type MembersDeps } from './organisations.ts'

/** Registers the routes of organisations and their members. */
export function organisationRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<CoreDeps & MembersDeps>,
): void {
  app.post('/api/organisations', {
    schema: ownerSchema({
      operationId: 'createOrganisation',
      summary: 'Create an organisation; needs a recent sign-in and a current identity verification',
      body: newOrganisationSchema(),
      response: { 201: createdOrganisationSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      return reply.code(201).send(await createOrganisation(deps, session, request.body))
    },
  })

  app.get('/api/account/members', {
    schema: ownerSchema({
      operationId: 'listMembers',
      summary: 'List the members of the organisation',
      response: { 200: membersSchema() },
    }),
    handler: async (request) => listMembers(deps, await authenticator.requireMember(request)),
  })
}
