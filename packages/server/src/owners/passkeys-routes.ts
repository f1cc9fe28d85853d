import {
  emptyBody,
  passkeyOptionsSchema,
  passkeyPatchSchema,
  passkeyResponseSchema,
  passkeySchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../core/http/server.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { nothing, type OwnerRouteContext, ownerSchema } from './owner-routes.ts'
import { addPasskey, beginAddingPasskey, namePasskey, removePasskey } from './passkeys.ts'

const params = Type.Object({ id: Type.String({ description: 'the credential id, base64url' }) })

export function passkeyRoutes(app: App, { deps, cookies, signedIn }: OwnerRouteContext): void {
  app.post('/api/account/passkeys/options', {
    schema: ownerSchema({
      operationId: 'passkeyOptions',
      summary: 'Begin to add a passkey; needs a recent sign-in',
      body: emptyBody(),
      response: { 200: passkeyOptionsSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.requireRecent(request)
      const { options, token } = await beginAddingPasskey(deps, ownerId)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { options }
    },
  })

  app.post('/api/account/passkeys', {
    schema: ownerSchema({
      operationId: 'addPasskey',
      summary: 'Add the passkey that was made; needs a recent sign-in',
      body: passkeyResponseSchema(),
      response: { 201: passkeySchema() },
    }),
    handler: async (request, reply) => {
      const session = await signedIn.requireRecent(request)
      const flow = cookies.take(request, reply, 'flow')
      return reply.code(201).send(await addPasskey(deps, session, flow, request.body))
    },
  })

  app.patch('/api/account/passkeys/:id', {
    schema: ownerSchema({
      operationId: 'namePasskey',
      summary: 'Rename a passkey',
      params,
      body: passkeyPatchSchema(),
      response: { 200: passkeySchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.require(request)
      return namePasskey(deps, ownerId, request.params.id, request.body.name)
    },
  })

  app.delete('/api/account/passkeys/:id', {
    schema: ownerSchema({
      operationId: 'removePasskey',
      summary: 'Remove a passkey, but never the last way in; needs a recent sign-in',
      params,
      response: { 204: nothing('Removed') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.requireRecent(request)
      await removePasskey(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })
}
