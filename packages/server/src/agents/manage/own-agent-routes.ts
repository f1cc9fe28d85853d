import {
  accountEventsQuerySchema,
  accountEventsSchema,
  activityQuerySchema,
  activitySchema,
  agentPatchSchema,
  bulkStatusRequestSchema,
  bulkStatusSchema,
  historyQuerySchema,
  historySchema,
  ocsfEventSchema,
  onboardingPatchSchema,
  onboardingSchema,
  ownerAgentSchema,
  ownerAgentsQuerySchema,
  ownerAgentsSchema,
  revokeAllRequestSchema,
  revokedSchema,
  statusRequestSchema,
} from '@countersign/protocol'
import {
  forApiKeys,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import { OWN_AGENT, ownAgentParam } from '../find-agent.ts'
import { listEvents, listOcsfEvents } from './account-events.ts'
import { listActivity } from './activity.ts'
import { changeOwnStatus } from './change-status.ts'
import { changeStatuses } from './change-statuses.ts'
import { listHistory } from './history.ts'
import { listAgents } from './list-agents.ts'
import { describeOnboarding, editOnboarding } from './onboarding.ts'
import { getOwnAgent } from './own-agent.ts'
import { avatarRoutes } from './own-avatar-routes.ts'
import { revokeAll } from './revoke-all.ts'
import { updateProfile } from './update-profile.ts'

/** Registers the routes of the signed-in owner's agents. */
export function ownAgentRoutes(app: App, context: OwnerRouteContext): void {
  listRoutes(app, context)
  editRoute(app, context)
  avatarRoutes(app, context)
  statusRoutes(app, context)
  historyRoute(app, context)
  bulkStatusRoute(app, context)
  revokeAllRoute(app, context)
  activityRoute(app, context)
  eventsRoute(app, context)
  onboardingRoutes(app, context)
}

function activityRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.get('/api/account/activity', {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'activity',
      summary: 'List the events of the account and all its agents, newest first',
      querystring: activityQuerySchema(),
      response: { 200: activitySchema(deps.site.naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listActivity(deps, ownerId, request.query)
    },
  })
}

const NDJSON = 'application/x-ndjson'

function eventsRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  const { naming, baseUrl } = deps.site
  app.get('/api/account/events', {
    schema: ownerSchema({
      ...forApiKeys('events:read'),
      operationId: 'accountEvents',
      summary: 'Read the events of the account and all its agents, oldest first, for programs',
      querystring: accountEventsQuerySchema(),
      response: {
        200: {
          description:
            'A page of events. As application/x-ndjson, the header `Link` has the next page (`rel="next"`), and `X-More` says whether it has events already',
          content: {
            'application/json': { schema: accountEventsSchema(naming) },
            [NDJSON]: { schema: { ...ocsfEventSchema(), description: 'each line' } },
          },
        },
      },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.owner(request)
      const { format, ...page } = request.query
      if (format !== 'ocsf') return listEvents(deps, ownerId, page)
      const { lines, next, more } = await listOcsfEvents(deps, ownerId, page)
      const target = new URL(request.url, baseUrl)
      target.searchParams.set('after', next)
      reply.header('link', `<${target}>; rel="next"`).header('x-more', String(more))
      return reply.type(NDJSON).send(Buffer.from(lines) as never)
    },
  })
}

function onboardingRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  const schema = { response: { 200: onboardingSchema(deps.site.naming) } }
  app.get('/api/account/onboarding', {
    schema: ownerSchema({
      operationId: 'onboarding',
      summary: 'Get the first steps of an owner, and which are done',
      ...schema,
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return describeOnboarding(deps, ownerId)
    },
  })

  app.patch('/api/account/onboarding', {
    schema: ownerSchema({
      operationId: 'editOnboarding',
      summary: 'Record that a badge was copied, or hide the first steps',
      body: onboardingPatchSchema(),
      ...schema,
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return editOnboarding(deps, ownerId, request.body)
    },
  })
}

function editRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.patch(OWN_AGENT, {
    schema: ownerSchema({
      ...forApiKeys('agents:write'),
      operationId: 'editAgent',
      summary:
        'Change the display name, username, description or responsible person; null removes it',
      params: ownAgentParam(),
      body: agentPatchSchema(),
      response: { 200: ownerAgentSchema(deps.site.naming) },
    }),
    handler: async (request) => {
      const caller = await authenticator.owner(request)
      return updateProfile(deps, caller, request.params.agent, request.body)
    },
  })
}

function historyRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.get(`${OWN_AGENT}/history`, {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'agentHistory',
      summary: 'List the events of an agent, newest first',
      params: ownAgentParam(),
      querystring: historyQuerySchema(),
      response: { 200: historySchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listHistory(deps, ownerId, request.params.agent, request.query)
    },
  })
}

function listRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  const { naming } = deps.site
  app.get('/api/account/agents', {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'ownerAgents',
      summary: 'List the agents of the owner',
      querystring: ownerAgentsQuerySchema(),
      response: { 200: ownerAgentsSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listAgents(deps, ownerId, request.query)
    },
  })

  app.get(OWN_AGENT, {
    schema: ownerSchema({
      ...forApiKeys('agents:read'),
      operationId: 'ownerAgent',
      summary: 'An agent of the owner',
      params: ownAgentParam(),
      response: { 200: ownerAgentSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return getOwnAgent(deps, ownerId, request.params.agent)
    },
  })
}

function bulkStatusRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  const { naming } = deps.site
  app.post('/api/account/agents/status', {
    schema: ownerSchema({
      operationId: 'changeStatuses',
      summary: 'Suspend or revoke up to 200 agents, with one notification',
      body: bulkStatusRequestSchema(naming),
      response: { 200: bulkStatusSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return changeStatuses(deps, ownerId, request.body)
    },
  })
}

/** For owners who no longer trust any of their agents' keys. */
function revokeAllRoute(app: App, { deps, authenticator }: OwnerRouteContext): void {
  app.post('/api/account/agents/revoke-all', {
    schema: ownerSchema({
      operationId: 'revokeAllAgents',
      summary: 'Revoke all agents permanently; needs a recent sign-in',
      body: revokeAllRequestSchema(),
      response: { 200: revokedSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireRecentSession(request)
      const { username, reason = null } = request.body
      return { revokedAgents: await revokeAll(deps, ownerId, username, reason) }
    },
  })
}

const STATUS_CHANGES = [
  { verb: 'suspend', to: 'suspended', scope: 'agents:status', summary: 'Suspend an agent' },
  {
    verb: 'reactivate',
    to: 'active',
    scope: 'agents:status',
    summary: 'Reactivate a suspended agent',
  },
  {
    verb: 'revoke',
    to: 'revoked',
    scope: 'agents:revoke',
    summary: 'Revoke an agent permanently; 10 an hour with an API key',
  },
] as const

function statusRoutes(app: App, { deps, authenticator }: OwnerRouteContext): void {
  for (const { verb, to, scope, summary } of STATUS_CHANGES) {
    app.post(`${OWN_AGENT}/${verb}`, {
      schema: ownerSchema({
        ...forApiKeys(scope),
        operationId: `${verb}Agent`,
        summary,
        params: ownAgentParam(),
        body: statusRequestSchema(),
        response: { 200: ownerAgentSchema(deps.site.naming) },
      }),
      handler: async (request) => {
        const caller = await authenticator.owner(request)
        const { reason = null } = request.body
        return changeOwnStatus(deps, caller, request.params.agent, { to, reason })
      },
    })
  }
}
