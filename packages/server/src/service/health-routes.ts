import {
  CodedError,
  type DatabaseReport,
  errorSchema,
  readinessSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { Part } from '../http/part.ts'
import type { App } from '../http/server.ts'

const okSchema = () =>
  Type.Object({ status: Type.Literal('ok') }, { description: 'The process is alive' })

export interface HealthDeps {
  readonly isReady: () => boolean
  /** Whether the read model is within `MAX_STALENESS` of the database. */
  readonly isFresh: () => boolean
  /** Must answer within seconds even if the database does not. */
  readonly reportDatabase: () => Promise<DatabaseReport>
  /** Add what they report. */
  readonly parts: readonly Part[]
}

/** `/healthz`: whether the process is alive. `/readyz`: whether it should get requests, and the state of its database. */
export function healthRoutes(app: App, deps: HealthDeps): void {
  const { isReady, isFresh, reportDatabase, parts } = deps
  app.get('/healthz', {
    schema: {
      operationId: 'healthz',
      summary: 'Check that the process is alive',
      tags: ['operate'],
      response: { 200: okSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: async () => ({ status: 'ok' as const }),
  })
  app.get('/readyz', {
    schema: {
      operationId: 'readyz',
      summary: 'Check that the node can serve requests, with the state of the database',
      tags: ['operate'],
      response: { 200: readinessSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', 'no-store')
      if (!isReady()) throw new CodedError('UNAVAILABLE', 'Starting or shutting down.')
      const database = await reportDatabase()
      if (!isFresh())
        throw new CodedError(
          'UNAVAILABLE',
          `This node has had no news of the database for ${database.staleness} ms. It answers lookups again when it does.`,
        )
      const reports = parts.map((part) => part.readiness?.())
      return Object.assign({ status: 'ok' as const, database }, ...reports)
    },
  })
}
