import { CodedError, errorSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { App } from '../bare-app.ts'

const okSchema = () => Type.Object({ status: Type.Literal('ok') })

/** `/healthz`: the process lives. `/readyz`: send it requests. */
export function healthRoutes(app: App, isReady: () => boolean): void {
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
      summary: 'Whether requests should be sent here',
      tags: ['operate'],
      response: { 200: okSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', 'no-store')
      if (!isReady()) throw new CodedError('UNAVAILABLE', 'Starting or shutting down.')
      return { status: 'ok' as const }
    },
  })
}
