import { providerRequestSchema, redirectSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { providerParam } from '../providers/provider-param.ts'
import { beginProviderSignIn } from './by-provider.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { nothing, type OwnerSide, ownerSchema } from './owner-route-context.ts'
import { unlinkProvider } from './unlink-provider.ts'

/** Accounts elsewhere that open this one. */
export function signInProviderRoutes(app: App, { deps, cookies, signedIn }: OwnerSide): void {
  app.post('/api/account/sign-in-providers', {
    schema: ownerSchema({
      operationId: 'linkSignInProvider',
      summary: 'Begin to link an account elsewhere, to sign in with; needs a recent sign-in',
      body: providerRequestSchema(),
      response: { 200: redirectSchema() },
    }),
    handler: async (request, reply) => {
      const session = await signedIn.requireRecent(request)
      const { redirect, token } = await beginProviderSignIn(deps, request.body.provider, session)
      cookies.write(reply, 'flow', token, FLOW_LIFETIME_MS / 1000)
      return { redirect }
    },
  })

  app.delete('/api/account/sign-in-providers/:provider', {
    schema: ownerSchema({
      operationId: 'unlinkSignInProvider',
      summary: 'Unlink it, unless it is the last way in; needs a recent sign-in',
      params: providerParam(),
      response: { 204: nothing('Unlinked') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.requireRecent(request)
      await unlinkProvider(deps, ownerId, request.params.provider)
      return reply.code(204).send(null as never)
    },
  })
}
