import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'
import { accountRoute } from './account.ts'
import { deletionRoute } from './deletion.ts'
import { exportRoute } from './export.ts'
import { passkeyRoutes } from './passkeys.ts'
import { recoveryCodeRoute } from './recovery-codes.ts'
import { accountSessionRoutes } from './sessions.ts'
import { signInProviderRoutes } from './sign-in-providers.ts'

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
