import {
  emptyBody,
  endingRuleSchema,
  enrolmentRulePatchSchema,
  enrolmentRuleSchema,
  enrolmentRulesSchema,
  enrolmentTestRequestSchema,
  enrolmentTestSchema,
  newEnrolmentRuleSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import {
  forApiKeys,
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import {
  changeRule,
  createRule,
  deleteRule,
  endRule,
  getRule,
  listRules,
  pauseRule,
  type RuleDeps,
  resumeRule,
} from './rules.ts'
import { testToken } from './test-token.ts'

const RULES = '/api/account/enrolment/rules'
const RULE = `${RULES}/:id`
const params = Type.Object({ id: Type.String({ description: 'of the rule' }) })

/** Registers the routes of the signed-in owner's enrolment rules. */
export function ownEnrolmentRoutes(app: App, context: OwnerRouteContext<RuleDeps>): void {
  readRoutes(app, context)
  changeRoutes(app, context)
  stateRoutes(app, context)
}

function readRoutes(app: App, { deps, authenticator }: OwnerRouteContext<RuleDeps>): void {
  app.get(RULES, {
    schema: ownerSchema({
      ...forApiKeys('enrolment:read'),
      operationId: 'listEnrolmentRules',
      summary: 'List the enrolment rules',
      response: { 200: enrolmentRulesSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return listRules(deps, ownerId)
    },
  })

  app.get(RULE, {
    schema: ownerSchema({
      ...forApiKeys('enrolment:read'),
      operationId: 'enrolmentRule',
      summary: 'Get an enrolment rule',
      params,
      response: { 200: enrolmentRuleSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return getRule(deps, ownerId, request.params.id)
    },
  })

  app.post(`${RULE}/test`, {
    schema: ownerSchema({
      operationId: 'testEnrolmentRule',
      summary: 'Check a token of the platform as an enrolment would',
      params,
      body: enrolmentTestRequestSchema(),
      response: { 200: enrolmentTestSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return testToken(deps, ownerId, request.params.id, request.body.token)
    },
  })
}

/** No API key can create or widen a rule: the rule would outlive the key. */
function changeRoutes(app: App, { deps, authenticator }: OwnerRouteContext<RuleDeps>): void {
  app.post(RULES, {
    schema: ownerSchema({
      operationId: 'createEnrolmentRule',
      summary: 'Create an enrolment rule; needs a recent sign-in and a current verification',
      body: newEnrolmentRuleSchema(),
      response: { 201: enrolmentRuleSchema() },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      return reply.code(201).send(await createRule(deps, session, request.body))
    },
  })

  app.patch(RULE, {
    schema: ownerSchema({
      operationId: 'changeEnrolmentRule',
      summary: 'Change an enrolment rule; needs a recent sign-in',
      params,
      body: enrolmentRulePatchSchema(),
      response: { 200: enrolmentRuleSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireRecentSession(request)
      return changeRule(deps, session, request.params.id, request.body)
    },
  })

  app.delete(RULE, {
    schema: ownerSchema({
      operationId: 'deleteEnrolmentRule',
      summary: 'Delete an enrolment rule; its agents go on until unseen; needs a recent sign-in',
      params,
      response: { 204: noContent('Deleted') },
    }),
    handler: async (request, reply) => {
      const session = await authenticator.requireRecentSession(request)
      await deleteRule(deps, session, request.params.id)
      return reply.code(204).send(null as never)
    },
  })
}

function stateRoutes(app: App, { deps, authenticator }: OwnerRouteContext<RuleDeps>): void {
  app.post(`${RULE}/pause`, {
    schema: ownerSchema({
      ...forApiKeys('agents:status'),
      operationId: 'pauseEnrolmentRule',
      summary: 'Pause an enrolment rule',
      params,
      body: emptyBody(),
      response: { 200: enrolmentRuleSchema() },
    }),
    handler: async (request) => {
      const caller = await authenticator.owner(request)
      return pauseRule(deps, caller, request.params.id)
    },
  })

  app.post(`${RULE}/resume`, {
    schema: ownerSchema({
      operationId: 'resumeEnrolmentRule',
      summary: 'Resume an enrolment rule; needs a recent sign-in',
      params,
      body: emptyBody(),
      response: { 200: enrolmentRuleSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireRecentSession(request)
      return resumeRule(deps, session, request.params.id)
    },
  })

  app.post(`${RULE}/end`, {
    schema: ownerSchema({
      ...forApiKeys('agents:revoke'),
      operationId: 'endEnrolmentRule',
      summary: 'Pause an enrolment rule and revoke all its agents',
      params,
      body: emptyBody(),
      response: { 202: endingRuleSchema() },
    }),
    handler: async (request, reply) => {
      const caller = await authenticator.owner(request)
      return reply.code(202).send(await endRule(deps, caller, request.params.id))
    },
  })
}
