import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'
import { passkeySignInRoutes } from './passkey.ts'
import { providerSignInRoutes } from './provider.ts'
import { sessionRoutes } from './session.ts'
import { signUpRoutes } from './sign-up.ts'
import { withoutPasskeyRoutes } from './without-passkey.ts'

/** Signing up, in and out. */
export function signInRoutes(app: App, side: OwnerSide): void {
  sessionRoutes(app, side)
  signUpRoutes(app, side)
  passkeySignInRoutes(app, side)
  withoutPasskeyRoutes(app, side)
  providerSignInRoutes(app, side)
}
