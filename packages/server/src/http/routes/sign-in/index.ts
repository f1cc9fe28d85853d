import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'
import { sessionRoutes } from './session.ts'

/** Signing up, in and out. */
export function signInRoutes(app: App, side: OwnerSide): void {
  sessionRoutes(app, side)
}
