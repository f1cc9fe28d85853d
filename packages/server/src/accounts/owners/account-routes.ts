import {
  accountPatchSchema,
  accountSchema,
  emptyBody,
  ownerSchema as ownerOf,
  passkeyOptionsSchema,
  passkeyPatchSchema,
  passkeyResponseSchema,
  passkeySchema,
  providerRequestSchema,
  recoveryCodesSchema,
  redirectSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../../http/server.ts'
import { providerParam } from '../providers/providers.ts'
import { describeAccount, editAccount } from './account.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { noContent, type OwnerRouteContext, ownerSchema } from './owner-routes.ts'
import { addPasskey, beginAddingPasskey, removePasskey, renamePasskey } from './passkeys.ts'
import {
  endOneSession,
  endOtherSessions,
  renewRecoveryCodes,
  unlinkProvider,
} from './sign-in-methods.ts'
import { beginProviderSignIn } from './sign-in-with-provider.ts'

/** Registers the routes of the signed-in owner's account. */
export function accountRoutes(app: App, context: OwnerRouteContext): void {
  accountRoute(app, context)
  passkeyRoutes(app, context)
  recoveryCodeRoute(app, context)
  accountSessionRoutes(app, context)
  signInProviderRoutes(app, context)
}

function accountRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.get('/api/account', {
    schema: ownerSchema({
      operationId: 'account',
      summary: 'Get the account: names, passkeys, sessions, linked accounts',
      response: { 200: accountSchema() },
    }),
    handler: async (request) => describeAccount(deps, await authenticator.requireSession(request)),
  })

  app.patch('/api/account', {
    schema: ownerSchema({
      operationId: 'editAccount',
      summary: 'Change the display name or the username; needs a recent sign-in',
      body: accountPatchSchema(),
      response: { 200: ownerOf() },
    }),
    handler: async (request) => {
      const owner = await editAccount(
        deps,
        await authenticator.requireRecentSession(request),
        request.body,
      )
      return { username: owner.username, displayName: owner.display_name }
    },
  })
}

function recoveryCodeRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.post('/api/account/recovery-codes', {
    schema: ownerSchema({
      operationId: 'renewRecoveryCodes',
      summary: 'Create ten new recovery codes, which replace the old ones; needs a recent sign-in',
      body: emptyBody(),
      response: { 201: recoveryCodesSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      const recoveryCodes = await renewRecoveryCodes(deps, session)
      return reply.code(201).send({ recoveryCodes: [...recoveryCodes] })
    },
  })
}

function accountSessionRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.delete('/api/account/sessions/:id', {
    schema: ownerSchema({
      operationId: 'endSession',
      summary: 'End one session',
      params: Type.Object({ id: Type.String({ description: 'the id in the account’s list' }) }),
      response: { 204: noContent('Ended') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      await endOneSession(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })

  app.delete('/api/account/sessions', {
    schema: ownerSchema({
      operationId: 'endOtherSessions',
      summary: 'End all other sessions; needs a recent sign-in',
      response: { 204: noContent('Ended') },
    }),
    handler: async (request, reply) => {
      await endOtherSessions(deps, await authenticator.requireRecentSession(request))
      return reply.code(204).send(null as never)
    },
  })
}

/** Linking and unlinking of accounts at identity providers, for sign-in. */
function signInProviderRoutes(app: App, { deps, cookies, authenticator }: OwnerRouteContext): void {
  app.post('/api/account/sign-in-providers', {
    schema: ownerSchema({
      operationId: 'linkSignInProvider',
      summary: 'Start linking an account of a provider as a sign-in method; needs a recent sign-in',
      body: providerRequestSchema(),
      response: { 200: redirectSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      const { redirect, token } = await beginProviderSignIn(deps, request.body.provider, session)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { redirect }
    },
  })

  app.delete('/api/account/sign-in-providers/:provider', {
    schema: ownerSchema({
      operationId: 'unlinkSignInProvider',
      summary:
        'Unlink an account of a provider, unless it is the last sign-in method; needs a recent sign-in',
      params: providerParam(),
      response: { 204: noContent('Unlinked') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      await unlinkProvider(deps, ownerId, request.params.provider)
      return reply.code(204).send(null as never)
    },
  })
}

const passkeyParams = Type.Object({
  id: Type.String({ description: 'the credential id, base64url' }),
})

function passkeyRoutes(app: App, { deps, cookies, authenticator }: OwnerRouteContext): void {
  app.post('/api/account/passkeys/options', {
    schema: ownerSchema({
      operationId: 'passkeyOptions',
      summary: 'Start adding a passkey; needs a recent sign-in',
      body: emptyBody(),
      response: { 200: passkeyOptionsSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      const { options, token } = await beginAddingPasskey(deps, ownerId)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { options }
    },
  })

  app.post('/api/account/passkeys', {
    schema: ownerSchema({
      operationId: 'addPasskey',
      summary: 'Finish adding a passkey; needs a recent sign-in',
      body: passkeyResponseSchema(),
      response: { 201: passkeySchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      const flow = cookies.take(request, reply, 'flow')
      return reply.code(201).send(await addPasskey(deps, session, flow, request.body))
    },
  })

  app.patch('/api/account/passkeys/:id', {
    schema: ownerSchema({
      operationId: 'namePasskey',
      summary: 'Rename a passkey',
      params: passkeyParams,
      body: passkeyPatchSchema(),
      response: { 200: passkeySchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return renamePasskey(deps, ownerId, request.params.id, request.body.name)
    },
  })

  app.delete('/api/account/passkeys/:id', {
    schema: ownerSchema({
      operationId: 'removePasskey',
      summary:
        'Remove a passkey and end the sessions that it started; needs a recent sign-in and another sign-in method',
      params: passkeyParams,
      response: { 204: noContent('Removed') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      await removePasskey(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })
}
