import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'
import { issueTokenRoute } from './issue-token.ts'

/** The agents of whoever is signed in. */
export function ownerAgentRoutes(app: App, side: OwnerSide): void {
  issueTokenRoute(app, side)
}
