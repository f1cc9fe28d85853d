import {
  acceptInvitationSchema,
  createdInvitationSchema,
  createdOrganisationSchema,
  emptyBody,
  invitationsSchema,
  newInvitationSchema,
  ownInvitationsSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../../http/server.ts'
import { noContent, type OwnerRouteContext, ownerSchema } from '../owners/owner-routes.ts'
import {
  acceptInvitation,
  declineInvitation,
  type InvitationDeps,
  invite,
  listInvitations,
  listOwnInvitations,
  withdrawInvitation,
} from './invitations.ts'

const params = Type.Object({ id: Type.String({ description: 'the id of the invitation' }) })

/** Registers the routes of invitations to organisations. */
export function invitationRoutes(app: App, context: OwnerRouteContext<InvitationDeps>): void {
  sentInvitationRoutes(app, context)
  ownInvitationRoutes(app, context)
}

function sentInvitationRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<InvitationDeps>,
): void {
  app.get('/api/account/invitations', {
    schema: ownerSchema({
      operationId: 'listInvitations',
      summary: 'List the open invitations of the organisation',
      response: { 200: invitationsSchema() },
    }),
    handler: async (request) => listInvitations(deps, await authenticator.requireMember(request)),
  })

  app.post('/api/account/invitations', {
    schema: ownerSchema({
      operationId: 'createInvitation',
      summary: 'Invite a person by username or e-mail address; needs a recent sign-in',
      body: newInvitationSchema(),
      response: { 201: createdInvitationSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentMember(request)
      return reply.code(201).send(await invite(deps, session, request.body))
    },
  })

  app.delete('/api/account/invitations/:id', {
    schema: ownerSchema({
      operationId: 'withdrawInvitation',
      summary: 'Withdraw an invitation',
      params,
      response: { 204: noContent('Withdrawn') },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireMember(request)
      await withdrawInvitation(deps, session, request.params.id)
      return reply.code(204).send(null as never)
    },
  })
}

function ownInvitationRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<InvitationDeps>,
): void {
  app.get('/api/invitations', {
    schema: ownerSchema({
      operationId: 'listOwnInvitations',
      summary: 'List the open invitations to you',
      response: { 200: ownInvitationsSchema() },
    }),
    handler: async (request) =>
      listOwnInvitations(deps, await authenticator.requireSession(request)),
  })

  app.post('/api/invitations/:id/accept', {
    schema: ownerSchema({
      operationId: 'acceptInvitation',
      summary: 'Accept an invitation, and become a member of the organisation',
      params,
      body: acceptInvitationSchema(),
      response: { 200: createdOrganisationSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      const accepted = { id: request.params.id, role: request.body.role, request: request.id }
      return acceptInvitation(deps, session, accepted)
    },
  })

  app.post('/api/invitations/:id/decline', {
    schema: ownerSchema({
      operationId: 'declineInvitation',
      summary: 'Decline an invitation',
      params,
      body: emptyBody(),
      response: { 204: noContent('Declined') },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireSession(request)
      await declineInvitation(deps, session, request.params.id)
      return reply.code(204).send(null as never)
    },
  })
}
