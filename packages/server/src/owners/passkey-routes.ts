import {
  emptyBody,
  passkeyOptionsSchema,
  passkeyResponseSchema,
  signedInSchema,
} from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { beginPasskeySignIn, completePasskeySignIn } from './by-passkey.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { type OwnerSide, ownerSchema } from './owner-route-context.ts'
import { welcome } from './welcome.ts'

/** Signing in with a passkey, once more too. */
export function passkeySignInRoutes(app: App, side: OwnerSide): void {
  const { deps, cookies, signedIn } = side
  app.post('/api/sign-in/passkey/options', {
    schema: ownerSchema({
      operationId: 'passkeySignInOptions',
      summary: 'Begin to sign in with a passkey',
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
      summary: 'Sign in with the passkey that was shown',
      body: passkeyResponseSchema(),
      response: { 200: signedInSchema() },
    }),
    handler: async (request, reply) => {
      const flow = cookies.take(request, reply, 'flow')
      const browser = await signedIn.browser(request)
      const { response } = request.body
      return welcome(side, reply, await completePasskeySignIn(deps, flow, response, browser))
    },
  })
}
