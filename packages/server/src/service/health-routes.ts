import {
  CodedError,
  type DatabaseReport,
  errorSchema,
  readinessSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../core/http/server.ts'

const okSchema = () => Type.Object({ status: Type.Literal('ok') })

export interface HealthDeps {
  readonly isReady: () => boolean
  /** Whether this node knows well enough what others have written. */
  readonly vouches: () => boolean
  /** Answers soon, whatever the database does. */
  readonly reportDatabase: () => Promise<DatabaseReport>
}

/** `/healthz`: the process lives. `/readyz`: send it requests, and what it stands on. */
export function healthRoutes(app: App, { isReady, vouches, reportDatabase }: HealthDeps): void {
  app.get('/healthz', {
    schema: {
      operationId: 'healthz',
      summary: 'Whether the process lives',
      tags: ['operate'],
      response: { 200: okSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: async () => ({ status: 'ok' as const }),
  })
  app.get('/readyz', {
    schema: {
      operationId: 'readyz',
      summary: 'Whether requests should be sent here, and what the database does',
      tags: ['operate'],
      response: { 200: readinessSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', 'no-store')
      if (!isReady()) throw new CodedError('UNAVAILABLE', 'Starting or shutting down.')
      const database = await reportDatabase()
      if (!vouches())
        throw new CodedError(
          'UNAVAILABLE',
          `This node has not heard of the database for ${database.staleness} ms, and vouches for nobody until it does.`,
        )
      return { status: 'ok' as const, database }
    },
  })
}
