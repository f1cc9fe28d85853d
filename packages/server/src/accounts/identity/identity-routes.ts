import {
  beginVerificationSchema,
  CodedError,
  identitySchema,
  verificationBegunSchema,
  verificationResultSchema,
  verificationSchema,
} from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { afterCommit } from '../../http/errors.ts'
import type { App } from '../../http/server.ts'
import { assertOwnerNotSuspended } from '../owner-suspension.ts'
import { CallbackRefusal } from '../owners/callback-failure.ts'
import {
  callbackFailureQuery,
  type OwnerRouteContext,
  ownerSchema,
} from '../owners/owner-routes.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { getProvider, providerParam } from '../providers/providers.ts'
import { identityOverview, type OverviewDeps, verificationByProvider } from './overview.ts'
import { unverifyOwner, withdrawName } from './record-verification.ts'
import {
  beginVerification,
  completeVerification,
  getVerifyingProvider,
  organisationOfFlow,
} from './verify.ts'

type IdentityRouteContext = OwnerRouteContext<OwnerDeps & OverviewDeps>

/** Registers the routes of an owner's identity verifications. */
export function identityRoutes(app: App, context: IdentityRouteContext): void {
  overviewRoute(app, context)
  beginRoute(app, context)
  completeRoute(app, context)
  callbackRoute(app, context)
  removeRoute(app, context)
  withdrawNameRoute(app, context)
}

function beginRoute(app: App, { deps, cookies, authenticator }: OwnerRouteContext): void {
  app.post('/api/identity/:provider/begin', {
    schema: ownerSchema({
      operationId: 'beginVerification',
      summary: 'Start an identity verification or its renewal',
      params: providerParam(),
      body: beginVerificationSchema(),
      response: { 200: verificationBegunSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      const provider = getVerifyingProvider(deps.providers, request.params.provider)
      const { begun, token, lifetimeMs } = await beginVerification(
        deps,
        ownerId,
        provider,
        request.body.publishName ?? false,
      )
      cookies.write(reply, 'flow', token, lifetimeMs / 1000)
      return begun
    },
  })
}

/** The redirect URI for providers. Redirects to the dashboard, which shows the outcome. */
function callbackRoute(app: App, context: OwnerRouteContext): void {
  const { deps } = context
  app.get('/identity/callback/:provider', {
    schema: ownerSchema({
      operationId: 'identityCallback',
      summary: "Complete a sign-in or verification at the provider's redirect",
      params: providerParam(),
      response: { 303: { type: 'null', description: 'Redirect to the dashboard' } },
    }),
    handler: async (request, reply) => {
      const { id } = getProvider(deps.providers, request.params.provider)
      const token = context.cookies.read(request, 'flow')
      context.cookies.clear(reply, 'flow')
      const organisation = await organisationOfFlow(deps, token)
      const outcome = await completeCallback(context, request, { id, token, organisation })
      const dashboard = organisation === null ? '/dashboard' : `/dashboard/o/${organisation}`
      return reply.redirect(`${dashboard}/identity?${new URLSearchParams(outcome)}`, 303)
    },
  })
}

async function completeCallback(
  { deps, authenticator }: OwnerRouteContext,
  request: FastifyRequest,
  { id, token, organisation }: Callback,
): Promise<Record<string, string>> {
  try {
    const provider = getProvider(deps.providers, id)
    const input = { url: new URL(request.url, deps.site.baseUrl) }
    try {
      const { ownerId } =
        organisation === null
          ? await authenticator.requireSession(request)
          : await authenticator.requireSessionFor(request, 'completeVerification', organisation)
      await completeVerification(deps, { ownerId, provider, token, input })
    } catch (error) {
      throw organisation === null ? error : notAdmin(error)
    }
    return { verified: id }
  } catch (error) {
    return callbackFailureQuery(error, request, deps.providers, id)
  }
}

interface Callback {
  /** The id of the provider. */
  readonly id: string
  /** From the flow cookie, or null. */
  readonly token: string | null
  /** The username of the organisation for which an admin began the flow; null: a person, for their own account. */
  readonly organisation: string | null
}

/** Says in the dashboard's words that a member may not verify the organisation, or no longer. */
function notAdmin(error: unknown): unknown {
  const isRefused =
    error instanceof CodedError && (error.code === 'NOT_FOUND' || error.code === 'FORBIDDEN')
  return isRefused ? new CallbackRefusal('not-admin', error.message) : error
}

/** For providers whose script runs in the browser, such as World ID, instead of a redirect. */
function completeRoute(app: App, { deps, cookies, authenticator }: IdentityRouteContext): void {
  app.post('/api/identity/:provider/complete', {
    schema: ownerSchema({
      operationId: 'completeVerification',
      summary: "Complete a verification with the unchanged result of the provider's script",
      params: providerParam(),
      body: verificationResultSchema(),
      response: { 200: verificationSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      const provider = getProvider(deps.providers, request.params.provider)
      const token = cookies.read(request, 'flow')
      cookies.clear(reply, 'flow')
      const input = { body: request.body.result }
      await completeVerification(deps, { ownerId, provider, token, input })
      return afterCommit(() => verificationByProvider(deps, ownerId, provider.id))
    },
  })
}

function overviewRoute(app: App, { deps, authenticator }: IdentityRouteContext): void {
  app.get('/api/identity', {
    schema: ownerSchema({
      operationId: 'identity',
      summary: "List the owner's verifications, the effect of removing each, and the providers",
      response: { 200: identitySchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return identityOverview(deps, ownerId)
    },
  })
}

/** Also for providers that the operator no longer configures. */
function removeRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.delete('/api/identity/:provider', {
    schema: ownerSchema({
      operationId: 'removeVerification',
      summary: 'Remove a verification; needs a recent sign-in',
      params: providerParam(),
      response: { 204: { type: 'null', description: 'Removed' } },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      await assertOwnerNotSuspended(deps.db.read, ownerId)
      if (!(await unverifyOwner(deps, ownerId, request.params.provider))) {
        throw new CodedError('NOT_FOUND', 'You are not verified by this identity provider.')
      }
      return reply.code(204).send(null as never)
    },
  })
}

function withdrawNameRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.delete('/api/identity/:provider/name', {
    schema: ownerSchema({
      operationId: 'withdrawVerifiedName',
      summary: 'Stop publishing the name that a provider verified, and delete it',
      params: providerParam(),
      response: { 204: { type: 'null', description: 'Deleted' } },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      await withdrawName(deps, ownerId, request.params.provider)
      return reply.code(204).send(null as never)
    },
  })
}
