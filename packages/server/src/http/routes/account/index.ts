import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'

/** The account of whoever is signed in. */
export function accountRoutes(_app: App, _side: OwnerSide): void {}
