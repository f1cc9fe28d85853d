import {
  createdOrganisationSchema,
  endedAccessSchema,
  memberActionsSchema,
  memberPatchSchema,
  membersSchema,
  newOrganisationSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../../http/server.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { type OwnerRouteContext, ownerSchema } from '../owners/owner-routes.ts'
import { changeRole, listActions, listMembers, type MembersDeps, removeMember } from './members.ts'
import { createOrganisation } from './organisations.ts'

const memberParams = Type.Object({
  member: Type.String({ description: 'the id of the membership' }),
})

/** Registers the routes of organisations and their members. */
export function organisationRoutes(
  app: App,
  context: OwnerRouteContext<CoreDeps & MembersDeps>,
): void {
  const { deps, authenticator } = context
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
  memberRoutes(app, context)
}

function memberRoutes(app: App, { deps, authenticator }: OwnerRouteContext<MembersDeps>): void {
  app.patch('/api/account/members/:member', {
    schema: ownerSchema({
      operationId: 'changeMember',
      summary: 'Change the role of a member; needs a recent sign-in',
      params: memberParams,
      body: memberPatchSchema(),
      response: { 200: endedAccessSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireRecentMember(request)
      return changeRole(deps, session, request.params.member, request.body.role)
    },
  })

  app.delete('/api/account/members/:member', {
    schema: ownerSchema({
      operationId: 'removeMember',
      summary: 'Remove a member, as an admin, or leave; needs a recent sign-in',
      params: memberParams,
      response: { 200: endedAccessSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireRecentMember(request)
      return removeMember(deps, session, request.params.member)
    },
  })

  app.get('/api/account/actions', {
    schema: ownerSchema({
      operationId: 'listActions',
      summary: 'List what members have done for the organisation, newest first',
      querystring: Type.Object({
        before: Type.Optional(Type.String({ description: '`next` of the previous page' })),
      }),
      response: { 200: memberActionsSchema() },
    }),
    handler: async (request) =>
      listActions(deps, await authenticator.requireMember(request), request.query.before),
  })
}
