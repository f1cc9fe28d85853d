import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'
import { avatarRoutes } from './avatar.ts'
import { editRoute } from './edit.ts'
import { historyRoute } from './history.ts'
import { issueTokenRoute } from './issue-token.ts'
import { listRoutes } from './list.ts'
import { revokeAllRoute } from './revoke-all.ts'
import { statusRoutes } from './status.ts'
import { streamRoute } from './stream.ts'

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
