import {
  emptyBody,
  organisationSignInQuery,
  redirectSchema,
  ssoConnectionRequestSchema,
  ssoConnectionResultSchema,
  ssoConnectionSchema,
} from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { OutcomeCounter } from '../../../http/metrics/outcome-counter.ts'
import type { App } from '../../../http/server.ts'
import { failureOf } from '../../owners/callback-failure.ts'
import { FLOW_LIFETIME_MS } from '../../owners/flow.ts'
import {
  failureQuery,
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../../owners/owner-routes.ts'
import type { Browser } from '../../owners/session.ts'
import type { OwnerDeps } from '../../providers/providers.ts'
import { connectSso, describeConnection, disconnectSso, type SsoDeps } from './sso-connection.ts'
import { beginSsoLink, beginSsoSignIn, completeSso, isConnected } from './sso-sign-in.ts'

/** The results of a sign-in that are counted from the start; others are the codes of failures. */
export const SSO_RESULTS = ['signed-in', 'linked', 'no-role', 'not-provisioned', 'unavailable']

type Context = OwnerRouteContext<SsoDeps & OwnerDeps & { readonly ssoSignIns: OutcomeCounter }>

/** Registers the routes of an organisation's identity provider: its settings, and the sign-in of members. */
export function ssoRoutes(app: App, context: Context): void {
  connectionRoutes(app, context)
  signInRoutes(app, context)
}

function connectionRoutes(app: App, { deps, authenticator }: Context): void {
  app.get('/api/account/sso', {
    schema: ownerSchema({
      operationId: 'ssoConnection',
      summary: "Read the settings of the organisation's identity provider, without its secret",
      response: { 200: ssoConnectionSchema() },
    }),
    handler: async (request) =>
      describeConnection(deps, await authenticator.requireMember(request)),
  })

  app.put('/api/account/sso', {
    schema: ownerSchema({
      operationId: 'connectSso',
      summary: 'Connect the organisation to its identity provider; needs a recent sign-in',
      body: ssoConnectionRequestSchema(),
      response: { 200: ssoConnectionResultSchema() },
    }),
    handler: async (request) =>
      connectSso(deps, await authenticator.requireRecentMember(request), request.body),
  })

  app.delete('/api/account/sso', {
    schema: ownerSchema({
      operationId: 'disconnectSso',
      summary:
        'End the connection with its sessions and the memberships that depend on it; needs a recent sign-in',
      response: { 204: noContent('Ended') },
    }),
    handler: async (request, reply) => {
      await disconnectSso(deps, await authenticator.requireRecentMember(request))
      return reply.code(204).send(null as never)
    },
  })
}

function signInRoutes(app: App, { deps, cookies, authenticator }: Context): void {
  app.post('/sign-in/organisation', {
    schema: ownerSchema({
      operationId: 'beginOrganisationSignIn',
      summary: 'Start signing in at the identity provider of an organisation',
      querystring: organisationSignInQuery(),
      body: emptyBody(),
      response: { 200: redirectSchema() },
    }),
    handler: async (request, reply) => {
      const { redirect, token } = await beginSsoSignIn(deps, request.query.name)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { redirect }
    },
  })

  app.post('/api/account/sso/link', {
    schema: ownerSchema({
      operationId: 'linkSso',
      summary:
        "Start linking the member's identity at the organisation's identity provider to their own account; needs a recent sign-in",
      body: emptyBody(),
      response: { 200: redirectSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentMember(request)
      const { redirect, token } = await beginSsoLink(deps, session)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { redirect }
    },
  })

  app.get('/sign-in/organisation/:connection', {
    schema: ownerSchema({
      operationId: 'organisationSignInCallback',
      summary: "Complete a sign-in at the redirect of an organisation's identity provider",
      params: Type.Object({
        connection: Type.String({
          minLength: 1,
          maxLength: 64,
          description: 'the id of a connection',
        }),
      }),
      response: { 303: { type: 'null', description: 'Redirect to the dashboard' } },
    }),
    handler: async (request, reply) => {
      const browser = await authenticator.browser(request)
      const page = await completeCallback({ deps, cookies, authenticator }, request, reply, {
        id: request.params.connection,
        browser,
      })
      return reply.redirect(`/dashboard/${page}`, 303)
    },
  })
}

/** @returns the dashboard page to redirect to, relative to `/dashboard/` */
async function completeCallback(
  { deps, cookies, authenticator }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, browser }: { readonly id: string; readonly browser: Browser },
): Promise<string> {
  try {
    const callback = {
      flow: cookies.take(request, reply, 'flow'),
      url: new URL(request.url, deps.site.baseUrl),
    }
    const { token, organisation } = await completeSso(deps, id, callback, browser)
    deps.ssoSignIns.add(token === null ? 'linked' : 'signed-in')
    if (token === null) return 'account/security?linked=organisation'
    authenticator.setCookie(reply, token)
    return `o/${organisation}/agents`
  } catch (error) {
    const provider = (await isConnected(deps, id)) ? 'organisation' : null
    if (provider !== null) deps.ssoSignIns.add(failureOf(error))
    const isPersonal = browser.session !== null && browser.session.limitedTo === null
    const page = isPersonal ? 'account/security' : 'sign-in'
    return `${page}?${new URLSearchParams(failureQuery(error, request, provider))}`
  }
}
