import {
  recoveryCodeRequestSchema,
  signedInSchema,
  signInLinkRequestSchema,
} from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from './owner-route-context.ts'
import { signInByRecoveryCode } from './recovery-codes.ts'
import { signInByLink } from './sign-in-link.ts'
import { welcome } from './welcome.ts'

/** Signing in by what is good once: a recovery code, a link of the host's. */
export function withoutPasskeyRoutes(app: App, side: OwnerSide): void {
  const { deps, signedIn } = side
  app.post('/api/sign-in/recovery-code', {
    schema: ownerSchema({
      operationId: 'signInByRecoveryCode',
      summary: 'Sign in by a recovery code, which is used up',
      body: recoveryCodeRequestSchema(),
      response: { 200: signedInSchema() },
    }),
    handler: async (request, reply) => {
      const browser = await signedIn.browser(request)
      return welcome(side, reply, await signInByRecoveryCode(deps, request.body, browser))
    },
  })

  app.post('/api/sign-in/link', {
    schema: ownerSchema({
      operationId: 'signInByLink',
      summary: 'Sign in by the token of a link that the host has made, which is used up',
      body: signInLinkRequestSchema(),
      response: { 200: signedInSchema() },
    }),
    handler: async (request, reply) => {
      const browser = await signedIn.browser(request)
      return welcome(side, reply, await signInByLink(deps, request.body.token, browser))
    },
  })
}
