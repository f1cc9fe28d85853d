import { providerRequestSchema, redirectSchema } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../core/http/server.ts'
import { providerParam } from '../providers/provider-param.ts'
import { beginProviderSignIn, completeProviderSignIn, type ProviderOutcome } from './by-provider.ts'
import { failureOf } from './failed-return.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { type OwnerSide, ownerSchema } from './owner-route-context.ts'

/** Signing in with an account elsewhere, where the host trusts its provider for that. */
export function providerSignInRoutes(app: App, side: OwnerSide): void {
  const { deps, cookies } = side
  app.post('/api/sign-in/provider', {
    schema: ownerSchema({
      operationId: 'beginProviderSignIn',
      summary: 'Begin to sign in, or up, with an account elsewhere',
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
      summary: 'Where a provider sends the browser back to',
      params: providerParam(),
      response: { 303: { type: 'null', description: 'On to the dashboard' } },
    }),
    handler: async (request, reply) => {
      const id = request.params.provider
      return reply.redirect(`/dashboard/${await comeBack(side, request, reply, id)}`, 303)
    },
  })
}

/** @returns the page of the dashboard that goes on */
async function comeBack(
  { deps, cookies, signedIn }: OwnerSide,
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
): Promise<string> {
  const browser = await signedIn.browser(request)
  try {
    const back = {
      flow: cookies.take(request, reply, 'flow'),
      url: new URL(request.url, deps.site.baseUrl),
    }
    const outcome = await completeProviderSignIn(deps, id, back, browser)
    if (outcome.kind === 'signed-in') signedIn.remember(reply, outcome.token)
    if (outcome.kind === 'unknown') {
      cookies.write(reply, 'flow', outcome.flow, FLOW_LIFETIME_MS / 1000)
    }
    return pageOf(outcome, encodeURIComponent(id))
  } catch (error) {
    const page = browser.session === null ? 'sign-in' : 'account'
    return `${page}?${new URLSearchParams(failureOf(error, request, id))}`
  }
}

function pageOf(outcome: ProviderOutcome, id: string): string {
  if (outcome.kind === 'unknown') return `sign-up?provider=${id}`
  return outcome.kind === 'linked' ? `account?linked=${id}` : 'agents'
}
