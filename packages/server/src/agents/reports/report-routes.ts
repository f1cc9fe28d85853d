import {
  agentReportsQuerySchema,
  agentReportsSchema,
  errorSchema,
  newReportSchema,
  receivedReportSchema,
  reportAnswerSchema,
  reportEvidenceSchema,
  reportStateSchema,
} from '@countersign/protocol'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import {
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { OWN_AGENT } from '../find-agent.ts'
import { answerReport, getEvidence, listReports } from './own-reports.ts'
import { createReport, type ReportDeps, reportState, withdrawReport } from './receive-report.ts'

const REPORT = '/api/v1/reports/:id'
/** Five requests, each of which may have a chain of delegations. */
const BODY_LIMIT = 64 * 1024

const params = Type.Object({ id: Type.String({ description: 'of the report' }) })
const ownParams = Type.Object({
  agent: Type.String({ description: 'a DID, or its 24-character tail' }),
  id: Type.String({ description: 'of the report' }),
})

/** Registers the routes of sites that report an agent. No CORS: their servers have the requests, not their pages. */
export function reportRoutes(app: App, deps: ReportDeps): void {
  const errors = { '4xx': errorSchema(), '5xx': errorSchema() }
  app.post('/api/v1/reports', {
    bodyLimit: BODY_LIMIT,
    schema: {
      operationId: 'createReport',
      summary: 'Report an agent to its owner, with requests that it signed',
      tags: ['check'],
      body: newReportSchema(),
      response: { 201: receivedReportSchema(), ...errors },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return reply.code(201).send(await createReport(deps, request.body))
    },
  })

  app.get(REPORT, {
    schema: {
      operationId: 'reportState',
      summary: 'Get the state of a report and the answer of the owner, with its token',
      tags: ['check'],
      params,
      response: { 200: reportStateSchema(), ...errors },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return reportState(deps, request.params.id, tokenOf(request))
    },
  })

  app.delete(REPORT, {
    schema: {
      operationId: 'withdrawReport',
      summary: 'Withdraw a report, with its token',
      tags: ['check'],
      params,
      response: { 204: noContent('Withdrawn'), ...errors },
    },
    handler: async (request, reply) => {
      await withdrawReport(deps, request.params.id, tokenOf(request))
      return reply.code(204).send(null as never)
    },
  })
}

function tokenOf({ headers }: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null
}

/** Registers the routes of the owner of a reported agent. Not for API keys: people decide what to do about a report. */
export function ownReportRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<Pick<CoreDeps, 'db' | 'site' | 'now'>>,
): void {
  const url = `${OWN_AGENT}/reports`
  app.get(url, {
    schema: ownerSchema({
      operationId: 'agentReports',
      summary: 'List the reports about an agent, newest first',
      params: Type.Pick(ownParams, ['agent']),
      querystring: agentReportsQuerySchema(),
      response: { 200: agentReportsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return listReports(deps, ownerId, request.params.agent, request.query)
    },
  })

  app.post(`${url}/:id/answer`, {
    schema: ownerSchema({
      operationId: 'answerReport',
      summary: 'Answer a report, once',
      params: ownParams,
      body: reportAnswerSchema(),
      response: { 204: noContent('Answered') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireSession(request)
      await answerReport(deps, ownerId, request.params, request.body.text)
      return reply.code(204).send(null as never)
    },
  })

  app.get(`${url}/:id/evidence`, {
    schema: ownerSchema({
      operationId: 'reportEvidence',
      summary: 'Get the signed requests of a report, for 90 days',
      params: ownParams,
      response: { 200: reportEvidenceSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireSession(request)
      return getEvidence(deps, ownerId, request.params)
    },
  })
}
