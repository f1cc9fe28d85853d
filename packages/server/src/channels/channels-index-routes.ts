import type { App } from '../core/http/server.ts'
import type { OwnerSide } from '../owners/owner-route-context.ts'
import { agentChannelsRoutes } from './agent-channels-routes.ts'
import { channelRoutes } from './channel-routes.ts'
import { channelKindsRoute } from './kinds-routes.ts'

/** Where the agents of whoever is signed in can be reached. */
export function channelsRoutes(app: App, side: OwnerSide): void {
  channelKindsRoute(app, side)
  agentChannelsRoutes(app, side)
  channelRoutes(app, side)
}
