import {
  emptyBody,
  errorSchema,
  type Naming,
  type RuntimeAnswer,
  type RuntimeChallenge,
  type RuntimeProof,
  runtimeAnswerSchema,
  runtimeChallengeSchema,
  runtimeProofSchema,
} from '@countersign/protocol'
import { allowAnyOrigin, answerPreflight } from '../http/cors.ts'
import { agentParam } from '../http/public-read.ts'
import type { App } from '../http/server.ts'

const ANSWER = '/api/agents/:agent/runtime'
const CHALLENGE = '/api/agents/:agent/runtime/challenge'
const REFUSALS = { '4xx': errorSchema(), '5xx': errorSchema() }

/** The rules that the runtime routes call. */
export interface RuntimeRouteDeps {
  readonly challenge: (reference: string) => Promise<RuntimeChallenge>
  readonly answer: (reference: string, answer: RuntimeAnswer) => Promise<RuntimeProof>
}

/** The routes by which an agent proves that it runs (docs/channels.md). The signature alone authenticates it, so any origin may call them. */
export function runtimeRoutes(app: App, naming: Naming, deps: RuntimeRouteDeps): void {
  app.post(CHALLENGE, {
    schema: {
      operationId: 'challengeRuntime',
      summary: 'Request a challenge for a runtime channel',
      tags: ['claim'],
      params: agentParam('agent'),
      body: emptyBody(),
      response: { 200: runtimeChallengeSchema(naming), ...REFUSALS },
    },
    onRequest: allowAnyOrigin,
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return deps.challenge((request.params as { agent: string }).agent)
    },
  })
  app.post(ANSWER, {
    schema: {
      operationId: 'answerRuntime',
      summary: 'Prove a runtime channel for 30 days with the signed challenge',
      tags: ['claim'],
      params: agentParam('agent'),
      body: runtimeAnswerSchema(naming),
      response: { 200: runtimeProofSchema(naming), ...REFUSALS },
    },
    onRequest: allowAnyOrigin,
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return deps.answer((request.params as { agent: string }).agent, request.body)
    },
  })
  for (const url of [CHALLENGE, ANSWER]) answerPreflight(app, naming, url, 'POST, OPTIONS')
}
