import {
  type AgentKeys,
  agentKeysSchema,
  errorSchema,
  type KeyReport,
  keyReportSchema,
  type Naming,
  type RecoverRequest,
  type RecoverResponse,
  type Renounced,
  type RenounceRequest,
  type Rotated,
  type RotateRequest,
  recoverRequestSchema,
  recoverResponseSchema,
  renouncedSchema,
  renounceRequestSchema,
  rotatedSchema,
  rotateRequestSchema,
  type Vetoed,
  type VetoRequest,
  vetoedSchema,
  vetoRequestSchema,
} from '@countersign/protocol'
import type { Database } from '../../database/database.ts'
import { REVALIDATE } from '../../http/caching.ts'
import { agentParam, publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import { findAgent, ownAgentParam, type ReadDeps } from '../find-agent.ts'
import { listKeys } from './list-keys.ts'

export interface KeyRouteDeps {
  readonly rotate: (reference: string, request: RotateRequest) => Promise<Rotated>
  readonly recover: (reference: string, request: RecoverRequest) => Promise<RecoverResponse>
  readonly vetoRecovery: (reference: string, request: VetoRequest) => Promise<Vetoed>
  readonly reportKey: (reference: string, request: KeyReport) => Promise<AgentKeys>
}

const KEYS = '/api/v1/agent/:agent/keys'

/** The keys of an agent, former and current, and what is pending. */
export function keyHistoryRoute(app: App, deps: ReadDeps & { readonly db: Database }): void {
  publicRead(app, deps.site.naming, {
    url: KEYS,
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'agentKeys',
      summary: 'List the keys of an agent and its pending recovery',
      tags: ['check'],
      params: agentParam('agent'),
      response: { 200: agentKeysSchema(deps.site.naming) },
    },
    handler: async (params: { agent: string }): Promise<AgentKeys> => {
      const { agent } = await findAgent(deps, params.agent)
      return listKeys(deps, agent.tail)
    },
  })
}

/**
 * The routes by which agents replace their keys. Signatures and the recovery token alone authenticate them. No CORS: agents call
 * them, not web pages.
 */
export function keyRoutes(app: App, naming: Naming, deps: KeyRouteDeps): void {
  const errors = { '4xx': errorSchema(), '5xx': errorSchema() }
  const shared = { tags: ['claim'], params: ownAgentParam() }
  app.post(KEYS, {
    schema: {
      operationId: 'rotateKey',
      summary: 'Rotate the key of an active agent, with signatures of the old and the new key',
      ...shared,
      body: rotateRequestSchema(),
      response: { 200: rotatedSchema(naming), ...errors },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return deps.rotate(request.params.agent, request.body)
    },
  })
  app.post('/api/v1/agent/:agent/recover', {
    schema: {
      operationId: 'recoverKey',
      summary: 'Redeem a recovery token with a new key',
      ...shared,
      body: recoverRequestSchema(naming),
      response: { 200: recoverResponseSchema(naming), ...errors },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return deps.recover(request.params.agent, request.body)
    },
  })
  app.post('/api/v1/agent/:agent/recovery/veto', {
    schema: {
      operationId: 'vetoRecovery',
      summary: 'Veto a recovery with the key that was reported as lost',
      ...shared,
      body: vetoRequestSchema(),
      response: { 200: vetoedSchema(naming), ...errors },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return deps.vetoRecovery(request.params.agent, request.body)
    },
  })
  app.post(`${KEYS}/compromised`, {
    schema: {
      operationId: 'reportKey',
      summary:
        'Report a key as compromised, with a signature by it, whatever the status of the agent',
      ...shared,
      body: keyReportSchema(),
      response: { 200: agentKeysSchema(naming), ...errors },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return deps.reportKey(request.params.agent, request.body)
    },
  })
}

export interface RenounceRouteDeps {
  readonly naming: Naming
  readonly renounce: (reference: string, request: RenounceRequest) => Promise<Renounced>
}

/** The route by which an agent gives up its certificate. The signature alone authenticates it. No CORS: agents call it, not web pages. */
export function renounceRoute(app: App, { naming, renounce }: RenounceRouteDeps): void {
  app.post('/api/v1/agent/:agent/renounce', {
    schema: {
      operationId: 'renounce',
      summary:
        "Give up a certificate with the agent's own key: suspended, and revoked after 72 hours",
      tags: ['claim'],
      params: ownAgentParam(),
      body: renounceRequestSchema(),
      response: { 200: renouncedSchema(naming), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return renounce(request.params.agent, request.body)
    },
  })
}
