import type { App } from '../../bare-app.ts'
import type { OwnerSide } from '../../owner/owner-side.ts'
import { agentChannelsRoutes } from './agent-channels.ts'
import { channelRoutes } from './channel.ts'
import { channelKindsRoute } from './kinds.ts'

/** Where the agents of whoever is signed in can be reached. */
export function channelsRoutes(app: App, side: OwnerSide): void {
  channelKindsRoute(app, side)
  agentChannelsRoutes(app, side)
  channelRoutes(app, side)
}
