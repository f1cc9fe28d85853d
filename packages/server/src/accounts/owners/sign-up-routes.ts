import {
  passkeyOptionsSchema,
  passkeyResponseSchema,
  signedUpSchema,
  signUpRequestSchema,
} from '@countersign/protocol'
import type { App } from '../../http/server.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { type OwnerRouteContext, ownerSchema } from './owner-routes.ts'
import { signUpWithProvider } from './sign-in-with-provider.ts'
import { beginSignUp, completeSignUp, type NewAccount } from './sign-up.ts'

/** Sign-up with a passkey, or with an account at an identity provider. */
export function signUpRoutes(app: App, { deps, cookies, signedIn }: OwnerRouteContext): void {
  app.post('/api/sign-up/options', {
    schema: ownerSchema({
      operationId: 'signUpOptions',
      summary: 'Start signing up with a passkey',
      body: signUpRequestSchema(),
      response: { 200: passkeyOptionsSchema() },
    }),
    handler: async (request, reply) => {
      const { options, token } = await beginSignUp(deps, request.body)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { options }
    },
  })

  app.post('/api/sign-up', {
    schema: ownerSchema({
      operationId: 'signUp',
      summary: 'Finish signing up with a passkey',
      body: passkeyResponseSchema(),
      response: { 201: signedUpSchema() },
    }),
    handler: async (request, reply) => {
      const flow = cookies.take(request, reply, 'flow')
      const browser = await signedIn.browser(request)
      const account = await completeSignUp(deps, flow, request.body, browser)
      signedIn.setCookie(reply, account.token)
      return reply.code(201).send(signedUpResponse(account))
    },
  })

  app.post('/api/sign-up/provider', {
    schema: ownerSchema({
      operationId: 'signUpByProvider',
      summary: 'Finish signing up with an account of a provider',
      body: signUpRequestSchema(),
      response: { 201: signedUpSchema() },
    }),
    handler: async (request, reply) => {
      const flow = cookies.read(request, 'flow')
      const browser = await signedIn.browser(request)
      const account = await signUpWithProvider(deps, flow, request.body, browser)
      cookies.clear(reply, 'flow')
      signedIn.setCookie(reply, account.token)
      return reply.code(201).send(signedUpResponse(account))
    },
  })
}

function signedUpResponse({ owner, recoveryCodes }: NewAccount) {
  const { username, display_name: displayName } = owner
  return { owner: { username, displayName }, recoveryCodes: [...recoveryCodes] }
}
