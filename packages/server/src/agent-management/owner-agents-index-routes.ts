import { issueTokenRoute } from '../claims/issue-token-routes.ts'
import type { App } from '../core/http/server.ts'
import { streamRoute } from '../dashboard/stream-routes.ts'
import type { OwnerSide } from '../owners/owner-route-context.ts'
import { editRoute } from './edit-routes.ts'
import { historyRoute } from './history-routes.ts'
import { listRoutes } from './list-routes.ts'
import { avatarRoutes } from './own-avatar-routes.ts'
import { revokeAllRoute } from './revoke-all-routes.ts'
import { statusRoutes } from './status-routes.ts'

/** The agents of whoever is signed in. */
export function ownerAgentRoutes(app: App, side: OwnerSide): void {
  issueTokenRoute(app, side)
  listRoutes(app, side)
  editRoute(app, side)
  avatarRoutes(app, side)
  statusRoutes(app, side)
  historyRoute(app, side)
  streamRoute(app, side)
  revokeAllRoute(app, side)
}
