import { newChannelSchema, ownerChannelSchema, ownerChannelsSchema } from '@countersign/protocol'
import { ownAgentParam } from '../agents/own-agent-param.ts'
import type { App } from '../core/http/server.ts'
import { type OwnerSide, ownerSchema } from '../owners/owner-route-context.ts'
import { addChannel } from './add-channel.ts'
import { AGENT_CHANNELS } from './channel-param.ts'
import { showChannels } from './show-channels.ts'

/** Where an agent can be reached. */
export function agentChannelsRoutes(app: App, { deps, signedIn }: OwnerSide): void {
  app.get(AGENT_CHANNELS, {
    schema: ownerSchema({
      operationId: 'listChannels',
      summary: 'The channels of an agent, with what to place to prove them',
      params: ownAgentParam(),
      response: { 200: ownerChannelsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await signedIn.require(request)
      return { channels: await showChannels(deps, ownerId, request.params.agent) }
    },
  })
  app.post(AGENT_CHANNELS, {
    schema: ownerSchema({
      operationId: 'addChannel',
      summary: 'Begin to prove a channel; a fresh token for one that is there',
      params: ownAgentParam(),
      body: newChannelSchema(),
      response: { 201: ownerChannelSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await signedIn.require(request)
      reply.code(201)
      return addChannel(deps, ownerId, request.params.agent, request.body)
    },
  })
}
