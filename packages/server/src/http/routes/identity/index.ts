import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'

/** Identity verification. */
export function identityRoutes(_app: App, _side: OwnerSide): void {}
