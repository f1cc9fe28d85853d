import {
  type EndEnrolmentRequest,
  type EndedEnrolment,
  type EnrolRequest,
  type EnrolResponse,
  endEnrolmentRequestSchema,
  endedEnrolmentSchema,
  enrolRequestSchema,
  enrolResponseSchema,
  errorSchema,
  type Naming,
} from '@countersign/protocol'
import type { App } from '../../http/server.ts'
import { ownAgentParam } from '../find-agent.ts'

export interface EnrolmentRouteDeps {
  readonly naming: Naming
  readonly enrol: (request: EnrolRequest) => Promise<EnrolResponse>
  readonly endEnrolment: (
    reference: string,
    request: EndEnrolmentRequest,
  ) => Promise<EndedEnrolment>
}

/**
 * The routes by which workloads enrol, renew and end. The token of the platform and the signature authenticate them. No CORS: workloads
 * call them, not web pages.
 */
export function enrolmentRoutes(
  app: App,
  { naming, enrol, endEnrolment }: EnrolmentRouteDeps,
): void {
  const errors = { '4xx': errorSchema(), '5xx': errorSchema() }
  const answer = enrolResponseSchema(naming)
  app.post('/api/v1/enrol', {
    schema: {
      operationId: 'enrol',
      summary: 'Enrol a workload by the token of its platform, or renew its agent',
      tags: ['claim'],
      body: enrolRequestSchema(),
      response: { 200: answer, 201: answer, ...errors },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const enrolled = await enrol(request.body)
      return reply.code(enrolled.renewed ? 200 : 201).send(enrolled)
    },
  })

  app.post('/api/v1/agent/:agent/enrolment/end', {
    schema: {
      operationId: 'endEnrolment',
      summary: 'End an enrolled agent, with a signature by its key',
      tags: ['claim'],
      params: ownAgentParam(),
      body: endEnrolmentRequestSchema(),
      response: { 200: endedEnrolmentSchema(naming), ...errors },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return endEnrolment(request.params.agent, request.body)
    },
  })
}
