import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'
import { beginRoute } from './begin.ts'
import { callbackRoute } from './callback.ts'
import { completeRoute } from './complete.ts'
import { overviewRoute } from './overview.ts'
import { removeRoute } from './remove.ts'

/** Identity verification. */
export function identityRoutes(app: App, side: OwnerSide): void {
  overviewRoute(app, side)
  beginRoute(app, side)
  completeRoute(app, side)
  callbackRoute(app, side)
  removeRoute(app, side)
}
