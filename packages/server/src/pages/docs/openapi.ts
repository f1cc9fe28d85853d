import type { Naming } from '@countersign/protocol'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { LIMIT_HEADERS } from '../../core/limits/headers.ts'
import type { RouteFacts } from '../../core/limits/limiter-of-route.ts'
import { errorsOf } from './errors-of.ts'
import type { ApiDocument, Operation } from './openapi-types.ts'

export interface OpenApiDeps {
  readonly naming: Naming
  readonly serviceName: string
  readonly baseUrl: string
  readonly version: string
}

/**
 * Collects the schemas of the routes that are registered after it.
 * @param isLimited which of them can answer 429
 */
export async function collectOpenApi(
  app: FastifyInstance,
  deps: OpenApiDeps,
  isLimited: (route: RouteFacts) => boolean,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: deps.serviceName,
        version: deps.version,
        description: `Identity certificates for software agents. DIDs begin with ${deps.naming.didPrefix}`,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: deps.baseUrl }],
      tags: [
        { name: 'claim', description: 'Getting a DID' },
        { name: 'check', description: 'Deciding whom to admit' },
        { name: 'show', description: 'Showing who an agent is' },
        { name: 'resolve', description: 'DID documents' },
        { name: 'learn', description: 'For agents that read' },
        { name: 'owner', description: 'What owners do: the dashboard, or your own' },
        { name: 'operate', description: 'For whoever hosts the service' },
      ],
    },
    transformObject: (made) =>
      ('openapiObject' in made ? withErrors(made.openapiObject as never, isLimited) : {}) as never,
  })
}

/** Tells of each operation with which codes it refuses. */
function withErrors(document: ApiDocument, isLimited: (route: RouteFacts) => boolean): ApiDocument {
  const paths = Object.entries(document.paths).map(([path, methods]) => {
    const told = Object.entries(methods).map(([method, operation]) => {
      const { operationId } = operation
      const route = { operationId, url: path, method: method.toUpperCase() }
      return [method, withCodes(route, operation, isLimited(route))]
    })
    return [path, Object.fromEntries(told)]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

function withCodes({ method }: RouteFacts, operation: Operation, isLimited: boolean): Operation {
  const { responses } = operation
  const limited = { ...responses, '4XX': { ...responses['4XX'], headers: LIMIT_HEADERS } }
  return {
    ...operation,
    ...(isLimited ? { responses: limited as never } : {}),
    'x-errors': errorsOf(method, operation, isLimited),
  }
}

/** `/openapi.json`, for programs. */
export function serveOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('access-control-allow-origin', '*').header('cache-control', 'public, max-age=300')
    return app.swagger()
  })
}
