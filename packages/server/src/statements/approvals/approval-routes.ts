import {
  type ApprovalProgress,
  type ApprovalRequest,
  approvalOptionsSchema,
  approvalRequestSchema,
  approvalStateSchema,
  approvalsSettingSchema,
  approvalsSwitchSchema,
  approveRequestSchema,
  denyRequestSchema,
  emptyBody,
  errorSchema,
  ownerApprovalSchema,
  ownerApprovalsSchema,
  type RawRequest,
  type RequestedApproval,
  requestedApprovalSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import { type OwnerRouteContext, ownerSchema } from '../../accounts/owners/owner-routes.ts'
import { OWN_AGENT, ownAgentParam } from '../../agents/find-agent.ts'
import { receivedOf } from '../../http/received-request.ts'
import type { App } from '../../http/server.ts'
import { approvalOptions, approve, type DecideDeps, deny, setApprovals } from './decide.ts'
import { getOwnApproval, listApprovals } from './read-approvals.ts'

const idParam = () => Type.Object({ id: Type.String({ description: 'the id of an approval' }) })

export interface ApprovalRouteDeps {
  readonly ask: (
    reference: string,
    received: RawRequest,
    request: ApprovalRequest,
  ) => Promise<{ readonly approval: RequestedApproval; readonly isNew: boolean }>
  readonly read: (id: string) => Promise<ApprovalProgress>
  /** The service's own origin. */
  readonly baseUrl: string
}

/** The routes by which an agent asks for an approval, and gets it. No CORS: agents call them, not web pages. */
export function approvalRoutes(app: App, { ask, read, baseUrl }: ApprovalRouteDeps): void {
  app.post('/api/v1/agent/:agent/approvals', {
    schema: {
      operationId: 'requestApproval',
      summary: 'Ask the owner to approve one request; a signed request',
      tags: ['approvals'],
      params: ownAgentParam(),
      body: approvalRequestSchema(),
      response: {
        200: requestedApprovalSchema(),
        201: requestedApprovalSchema(),
        '4xx': errorSchema(),
        '5xx': errorSchema(),
      },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const received = receivedOf(request, baseUrl)
      const { approval, isNew } = await ask(request.params.agent, received, request.body)
      return reply.code(isNew ? 201 : 200).send(approval)
    },
  })

  app.get('/api/v1/approvals/:id', {
    schema: {
      operationId: 'approval',
      summary: 'The state of an approval, with its token once the owner has approved it',
      tags: ['approvals'],
      params: idParam(),
      response: { 200: approvalStateSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return read(request.params.id)
    },
  })
}

/** The routes by which the signed-in owner reads and decides what agents ask, and lets them ask. API keys cannot use them. */
export function ownApprovalRoutes(
  app: App,
  { deps, authenticator }: Pick<OwnerRouteContext<DecideDeps>, 'deps' | 'authenticator'>,
): void {
  const { naming } = deps.site

  app.put(`${OWN_AGENT}/approvals`, {
    schema: ownerSchema({
      operationId: 'allowApprovals',
      summary: 'Let an agent ask for approvals, or not any more; to let it, a recent sign-in',
      params: ownAgentParam(),
      body: approvalsSwitchSchema(),
      response: { 200: approvalsSettingSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      return setApprovals(deps, session, request.params.agent, request.body.enabled)
    },
  })

  app.get('/api/account/approvals', {
    schema: ownerSchema({
      operationId: 'listApprovals',
      summary: 'What agents have asked the owner to approve, newest first',
      querystring: Type.Object({
        state: Type.Optional(
          Type.Literal('pending', { description: 'only those that wait for a decision' }),
        ),
        before: Type.Optional(
          Type.String({ maxLength: 64, description: '`next` of the page before' }),
        ),
      }),
      response: { 200: ownerApprovalsSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return listApprovals(deps, ownerId, request.query)
    },
  })

  app.get('/api/account/approvals/:id', {
    schema: ownerSchema({
      operationId: 'ownApproval',
      summary: 'One approval, with all that its passkey signs',
      params: idParam(),
      response: { 200: ownerApprovalSchema(naming) },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return getOwnApproval(deps, ownerId, request.params.id)
    },
  })

  app.post('/api/account/approvals/:id/options', {
    schema: ownerSchema({
      operationId: 'approvalOptions',
      summary:
        'The passkeys with which the person can approve; the challenge is the hash of the statement',
      params: idParam(),
      body: emptyBody(),
      response: { 200: approvalOptionsSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      return approvalOptions(deps, session, request.params.id)
    },
  })

  app.post('/api/account/approvals/:id/approve', {
    schema: ownerSchema({
      operationId: 'approveRequest',
      summary: 'Approve a request once, with a passkey that is 72 hours old',
      params: idParam(),
      body: approveRequestSchema(),
      response: { 200: ownerApprovalSchema(naming) },
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      return approve(deps, session, request.params.id, request.body.response)
    },
  })

  app.post('/api/account/approvals/:id/deny', {
    schema: ownerSchema({
      operationId: 'denyRequest',
      summary: 'Deny a request, and with turnOff all further ones of the agent',
      params: idParam(),
      body: denyRequestSchema(),
      response: { 200: ownerApprovalSchema(naming) },
    }),
    handler: async (request) => {
      const session = await authenticator.requireSession(request)
      return deny(deps, session, request.params.id, request.body.turnOff)
    },
  })
}
