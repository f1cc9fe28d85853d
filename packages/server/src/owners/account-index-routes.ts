import type { App } from '../core/http/server.ts'
import { deletionRoute } from '../privacy/deletion-routes.ts'
import { exportRoute } from '../privacy/export-routes.ts'
import { accountRoute } from './account-routes.ts'
import type { OwnerSide } from './owner-route-context.ts'
import { passkeyRoutes } from './passkeys-routes.ts'
import { recoveryCodeRoute } from './recovery-codes-routes.ts'
import { accountSessionRoutes } from './sessions-routes.ts'
import { signInProviderRoutes } from './sign-in-providers-routes.ts'

/** The account of whoever is signed in. */
export function accountRoutes(app: App, side: OwnerSide): void {
  accountRoute(app, side)
  passkeyRoutes(app, side)
  recoveryCodeRoute(app, side)
  accountSessionRoutes(app, side)
  signInProviderRoutes(app, side)
  exportRoute(app, side)
  deletionRoute(app, side)
}
