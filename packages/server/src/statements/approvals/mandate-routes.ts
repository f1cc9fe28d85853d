import {
  approvalOptionsSchema,
  emptyBody,
  mandateSchema,
  mandatesSchema,
  newMandateSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { type OwnerRouteContext, ownerSchema } from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import { createMandate, endOwnMandate, getMandate, listMandates } from './mandates.ts'
import { type PasskeyDeps, passkeyOptions } from './signed-by-passkey.ts'

const URL = '/api/account/mandates'
const idParam = () => Type.Object({ id: Type.String({ description: 'the id of a mandate' }) })

/** The routes by which the signed-in owner makes, reads and ends mandates. API keys cannot use them. */
export function ownMandateRoutes(
  app: App,
  { deps, authenticator }: Pick<OwnerRouteContext<PasskeyDeps>, 'deps' | 'authenticator'>,
): void {
  const { naming } = deps.site

  app.get(URL, {
    schema: ownerSchema({
      operationId: 'listMandates',
      summary: 'The standing mandates of your agents, newest first',
      querystring: Type.Object({
        before: Type.Optional(
          Type.String({ maxLength: 64, description: '`next` of the page before' }),
        ),
      }),
      response: { 200: mandatesSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return listMandates(deps, ownerId, request.query.before)
    },
  })

  app.get(`${URL}/:id`, {
    schema: ownerSchema({
      operationId: 'mandate',
      summary: 'One mandate, with what its passkey signed and what it approved',
      params: idParam(),
      response: { 200: mandateSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return getMandate(deps, ownerId, request.params.id)
    },
  })

  app.post(`${URL}/options`, {
    schema: ownerSchema({
      operationId: 'mandateOptions',
      summary:
        'The passkeys with which the person can sign a mandate; the challenge is the hash of the statement',
      body: emptyBody(),
      response: { 200: approvalOptionsSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      return passkeyOptions(deps, session)
    },
  })

  app.post(URL, {
    schema: ownerSchema({
      operationId: 'createMandate',
      summary:
        'Approve requests like one that you have approved, with a passkey that is 72 hours old',
      body: newMandateSchema(naming),
      response: { 201: mandateSchema(naming) },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireSession(request)
      return reply.code(201).send(await createMandate(deps, session, request.body))
    },
  })

  app.delete(`${URL}/:id`, {
    schema: ownerSchema({
      operationId: 'endMandate',
      summary: 'End a mandate: it approves nothing more',
      params: idParam(),
      response: { 200: mandateSchema(naming) },
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      const { id } = request.params
      await endOwnMandate(deps, session, id)
      return getMandate(deps, session.ownerId, id)
    },
  })
}
