import { emptyBody, ownerChannelSchema } from '@countersign/protocol'
import type { App } from '../core/http/server.ts'
import { nothing, type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { renewChannel } from './add-channel.ts'
import { OWN_CHANNEL, ownChannelParams } from './channel-param.ts'
import { checkNow } from './check-now.ts'
import { removeChannel } from './remove-channel.ts'

const ACTIONS = {
  check: { run: checkNow, summary: 'Check a channel now' },
  renew: { run: renewChannel, summary: 'Get a fresh token, so that a channel can be proven anew' },
} as const

/** What an owner does with one channel. */
export function channelRoutes(app: App, { deps, signedIn }: OwnerSide): void {
  for (const [action, { run, summary }] of Object.entries(ACTIONS)) {
    app.post(`${OWN_CHANNEL}/${action}`, {
      schema: ownerSchema({
        operationId: `${action}Channel`,
        summary,
        params: ownChannelParams(),
        body: emptyBody(),
        response: { 200: ownerChannelSchema() },
      }),
      handler: async (request) => {
        const { ownerId } = await signedIn.require(request)
        return run(deps, ownerId, request.params.agent, request.params.channel)
      },
    })
  }
  app.delete(OWN_CHANNEL, {
    schema: ownerSchema({
      operationId: 'removeChannel',
      summary: 'Remove a channel with its history',
      params: ownChannelParams(),
      response: { 204: nothing('It is removed.') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.require(request)
      await removeChannel(deps, ownerId, request.params.agent, request.params.channel)
      return reply.code(204).send(null as never)
    },
  })
}
