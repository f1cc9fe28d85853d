import {
  emptyBody,
  passkeyOptionsSchema,
  passkeyResponseSchema,
  providerRequestSchema,
  recoveryCodeRequestSchema,
  redirectSchema,
  signedInSchema,
  signedUpSchema,
  signInLinkRequestSchema,
  signUpRequestSchema,
} from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../http/server.ts'
import { providerParam } from '../providers/providers.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { callbackFailureQuery, type OwnerRouteContext, ownerSchema } from './owner-routes.ts'
import { signInWithRecoveryCode } from './recovery-codes.ts'
import { signInWithLink } from './sign-in-link.ts'
import {
  beginPasskeySignIn,
  completePasskeySignIn,
  type SignedInOwner,
} from './sign-in-with-passkey.ts'
import {
  beginProviderSignIn,
  completeProviderSignIn,
  type ProviderOutcome,
  signUpWithProvider,
} from './sign-in-with-provider.ts'
import { beginSignUp, completeSignUp, type NewAccount } from './sign-up.ts'

/** Registers the routes for sign-up and sign-in. */
export function signInRoutes(app: App, context: OwnerRouteContext): void {
  signUpRoutes(app, context)
  passkeySignInRoutes(app, context)
  singleUseSignInRoutes(app, context)
  providerSignInRoutes(app, context)
}

/** Sign-in with a passkey, also to confirm it again before sensitive actions. */
function passkeySignInRoutes(app: App, context: OwnerRouteContext): void {
  const { deps, cookies, authenticator } = context
  app.post('/api/sign-in/passkey/options', {
    schema: ownerSchema({
      operationId: 'passkeySignInOptions',
      summary: 'Start signing in with a passkey',
      body: emptyBody(),
      response: { 200: passkeyOptionsSchema() },
    }),
    handler: async (_request, reply) => {
      const { options, token } = await beginPasskeySignIn(deps)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { options }
    },
  })

  app.post('/api/sign-in/passkey', {
    schema: ownerSchema({
      operationId: 'signInWithPasskey',
      summary: 'Finish signing in with a passkey',
      body: passkeyResponseSchema(),
      response: { 200: signedInSchema() },
    }),
    handler: async (request, reply) => {
      const flow = cookies.take(request, reply, 'flow')
      const browser = await authenticator.browser(request)
      const { response } = request.body
      return signedInResponse(
        context,
        reply,
        await completePasskeySignIn(deps, flow, response, browser),
      )
    },
  })
}

/** Sets the session cookie, and returns the response of every sign-in method. */
function signedInResponse(
  { authenticator }: OwnerRouteContext,
  reply: FastifyReply,
  { owner, token }: SignedInOwner,
): { owner: { username: string; displayName: string } } {
  authenticator.setCookie(reply, token)
  return { owner: { username: owner.username, displayName: owner.display_name } }
}

/** Sign-in with an account at a provider that the operator has enabled for it (`signIn`). */
function providerSignInRoutes(app: App, context: OwnerRouteContext): void {
  const { deps, cookies } = context
  app.post('/api/sign-in/provider', {
    schema: ownerSchema({
      operationId: 'beginProviderSignIn',
      summary: 'Start signing in or up with an account of a provider',
      body: providerRequestSchema(),
      response: { 200: redirectSchema() },
    }),
    handler: async (request, reply) => {
      const { redirect, token } = await beginProviderSignIn(deps, request.body.provider, null)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { redirect }
    },
  })

  app.get('/sign-in/callback/:provider', {
    schema: ownerSchema({
      operationId: 'signInCallback',
      summary: "Complete a sign-in or verification at the provider's redirect",
      params: providerParam(),
      response: { 303: { type: 'null', description: 'Redirect to the dashboard' } },
    }),
    handler: async (request, reply) => {
      const id = request.params.provider
      return reply.redirect(
        `/dashboard/${await completeCallback(context, request, reply, id)}`,
        303,
      )
    },
  })
}

/** @returns the dashboard page to redirect to, relative to `/dashboard/` */
async function completeCallback(
  { deps, cookies, authenticator }: OwnerRouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
): Promise<string> {
  const browser = await authenticator.browser(request)
  try {
    const callback = {
      flow: cookies.take(request, reply, 'flow'),
      url: new URL(request.url, deps.site.baseUrl),
    }
    const outcome = await completeProviderSignIn(deps, id, callback, browser)
    if (outcome.kind === 'signed-in') authenticator.setCookie(reply, outcome.token)
    if (outcome.kind === 'unknown') {
      cookies.write(reply, 'flow', outcome.flow, FLOW_LIFETIME_MS / 1000)
    }
    return dashboardPageFor(outcome, encodeURIComponent(id))
  } catch (error) {
    const page = browser.session === null ? 'sign-in' : 'account/security'
    return `${page}?${new URLSearchParams(callbackFailureQuery(error, request, deps.providers, id))}`
  }
}

function dashboardPageFor(outcome: ProviderOutcome, id: string): string {
  if (outcome.kind === 'unknown') return `sign-up?provider=${id}`
  return outcome.kind === 'linked' ? `account/security?linked=${id}` : 'agents'
}

/** Sign-in with a single-use secret: a recovery code, or a sign-in link from the operator. */
function singleUseSignInRoutes(app: App, context: OwnerRouteContext): void {
  const { deps, authenticator } = context
  app.post('/api/sign-in/recovery-code', {
    schema: ownerSchema({
      operationId: 'signInByRecoveryCode',
      summary: 'Sign in with a single-use recovery code',
      body: recoveryCodeRequestSchema(),
      response: { 200: signedInSchema() },
    }),
    handler: async (request, reply) => {
      const browser = await authenticator.browser(request)
      return signedInResponse(
        context,
        reply,
        await signInWithRecoveryCode(deps, request.body, browser),
      )
    },
  })

  app.post('/api/sign-in/link', {
    schema: ownerSchema({
      operationId: 'signInByLink',
      summary: 'Sign in with the token of a single-use sign-in link',
      body: signInLinkRequestSchema(),
      response: { 200: signedInSchema() },
    }),
    handler: async (request, reply) => {
      const browser = await authenticator.browser(request)
      return signedInResponse(
        context,
        reply,
        await signInWithLink(deps, request.body.token, browser),
      )
    },
  })
}

/** Sign-up with a passkey, or with an account at an identity provider. */
function signUpRoutes(app: App, { deps, cookies, authenticator }: OwnerRouteContext): void {
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
      const browser = await authenticator.browser(request)
      const account = await completeSignUp(deps, flow, request.body, browser)
      authenticator.setCookie(reply, account.token)
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
      const browser = await authenticator.browser(request)
      const account = await signUpWithProvider(deps, flow, request.body, browser)
      cookies.clear(reply, 'flow')
      authenticator.setCookie(reply, account.token)
      return reply.code(201).send(signedUpResponse(account))
    },
  })
}

function signedUpResponse({ owner, recoveryCodes }: NewAccount) {
  const { username, display_name: displayName } = owner
  return { owner: { username, displayName }, recoveryCodes: [...recoveryCodes] }
}
