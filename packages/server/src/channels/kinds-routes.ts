import { channelKindsSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { kindsInWords } from './show-channels.ts'

/** What a form needs to know of each kind of channel. */
export function channelKindsRoute(app: App, { deps, signedIn }: OwnerSide): void {
  app.get('/api/account/channel-kinds', {
    schema: ownerSchema({
      operationId: 'listChannelKinds',
      summary: 'The kinds of channel that can be proven',
      response: { 200: channelKindsSchema() },
    }),
    handler: async (request) => {
      await signedIn.require(request)
      return { kinds: kindsInWords(deps.outside.kinds) }
    },
  })
}
