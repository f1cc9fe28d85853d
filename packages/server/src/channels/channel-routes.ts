import {
  channelKindsSchema,
  countersignedCardSchema,
  emptyBody,
  newChannelSchema,
  ownerChannelSchema,
  ownerChannelsSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import {
  forApiKeys,
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../accounts/owners/owner-routes.ts'
import { OWN_AGENT, ownAgentParam } from '../agents/find-agent.ts'
import type { App } from '../http/server.ts'
import { addChannel, removeChannel, renewChannel } from './change-channels.ts'
import { checkNow } from './check-channel.ts'
import { type CountersignDeps, countersignCard } from './countersign-card.ts'
import { describeKinds, describeOwnChannels } from './describe-channels.ts'
import type { ChannelDeps } from './kinds/kind.ts'

const AGENT_CHANNELS = `${OWN_AGENT}/channels` as const

/** The path of one channel. */
const OWN_CHANNEL = `${AGENT_CHANNELS}/:channel` as const

/** The path parameters of OWN_CHANNEL. */
function ownChannelParams() {
  return Type.Object({
    ...ownAgentParam().properties,
    channel: Type.String({ maxLength: 64, description: 'the id of a channel' }),
  })
}

const ACTIONS = {
  check: { run: checkNow, summary: 'Check a channel now' },
  renew: { run: renewChannel, summary: 'Create a new token to prove a channel again' },
} as const

/** The routes by which signed-in owners manage the channels of their agents. */
export function channelsRoutes(app: App, context: OwnerRouteContext<CountersignDeps>): void {
  channelKindsRoute(app, context)
  agentChannelsRoutes(app, context)
  singleChannelRoutes(app, context)
  countersignRoute(app, context)
}

/** The kinds of channel, with the texts of their form fields. */
function channelKindsRoute(
  app: App,
  { deps, authenticator }: OwnerRouteContext<ChannelDeps>,
): void {
  app.get('/api/account/channel-kinds', {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'listChannelKinds',
      summary: 'List the kinds of channel that can be proven',
      response: { 200: channelKindsSchema() },
    }),
    handler: async (request) => {
      await authenticator.owner(request)
      return { kinds: describeKinds(deps.channelSources.kinds) }
    },
  })
}

/** List and add the channels of one agent. */
function agentChannelsRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<ChannelDeps>,
): void {
  app.get(AGENT_CHANNELS, {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'listChannels',
      summary: 'List the channels of an agent, and how to prove them',
      params: ownAgentParam(),
      response: { 200: ownerChannelsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return { channels: await describeOwnChannels(deps, ownerId, request.params.agent) }
    },
  })
  app.post(AGENT_CHANNELS, {
    schema: ownerSchema({
      ...forApiKeys('channels:write'),
      operationId: 'addChannel',
      summary: 'Add a channel, or create a new token for an existing one',
      params: ownAgentParam(),
      body: newChannelSchema(),
      response: { 201: ownerChannelSchema() },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.owner(request)
      reply.code(201)
      return addChannel(deps, ownerId, request.params.agent, request.body)
    },
  })
}

/** Check, renew and remove one channel. */
function singleChannelRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<ChannelDeps>,
): void {
  for (const [action, { run, summary }] of Object.entries(ACTIONS)) {
    app.post(`${OWN_CHANNEL}/${action}`, {
      schema: ownerSchema({
        ...forApiKeys('channels:write'),
        operationId: `${action}Channel`,
        summary,
        params: ownChannelParams(),
        body: emptyBody(),
        response: { 200: ownerChannelSchema() },
      }),
      handler: async (request) => {
        const { ownerId } = await authenticator.owner(request)
        return run(deps, ownerId, request.params.agent, request.params.channel)
      },
    })
  }
  app.delete(OWN_CHANNEL, {
    schema: ownerSchema({
      ...forApiKeys('channels:write'),
      operationId: 'removeChannel',
      summary: 'Remove a channel with its history',
      params: ownChannelParams(),
      response: { 204: noContent('Removed') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.owner(request)
      await removeChannel(deps, ownerId, request.params.agent, request.params.channel)
      return reply.code(204).send(null as never)
    },
  })
}

/** Countersign the agent card that proves an agent-to-agent channel. */
function countersignRoute(
  app: App,
  { deps, authenticator }: OwnerRouteContext<CountersignDeps>,
): void {
  app.post(`${OWN_CHANNEL}/countersign`, {
    schema: ownerSchema({
      ...forApiKeys('channels:write'),
      operationId: 'signAgentCard',
      summary: 'Sign the published agent card of a verified agent-to-agent channel',
      params: ownChannelParams(),
      body: emptyBody(),
      response: { 200: countersignedCardSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return countersignCard(deps, ownerId, request.params.agent, request.params.channel)
    },
  })
}
