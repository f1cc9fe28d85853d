import type { App } from '../core/http/server.ts'
import type { OwnerSide } from '../owners/owner-route-context.ts'
import { beginRoute } from './begin-routes.ts'
import { callbackRoute } from './callback-routes.ts'
import { completeRoute } from './complete-routes.ts'
import { overviewRoute } from './overview-routes.ts'
import { removeRoute } from './remove-routes.ts'

/** Identity verification. */
export function identityRoutes(app: App, side: OwnerSide): void {
  overviewRoute(app, side)
  beginRoute(app, side)
  completeRoute(app, side)
  callbackRoute(app, side)
  removeRoute(app, side)
}
