import type { App } from '../core/http/server.ts'
import { sessionRoutes } from '../dashboard/session-routes.ts'
import type { OwnerSide } from './owner-route-context.ts'
import { passkeySignInRoutes } from './passkey-routes.ts'
import { providerSignInRoutes } from './provider-sign-in-routes.ts'
import { signUpRoutes } from './sign-up-routes.ts'
import { withoutPasskeyRoutes } from './without-passkey-routes.ts'

/** Signing up, in and out. */
export function signInRoutes(app: App, side: OwnerSide): void {
  sessionRoutes(app, side)
  signUpRoutes(app, side)
  passkeySignInRoutes(app, side)
  withoutPasskeyRoutes(app, side)
  providerSignInRoutes(app, side)
}
