import type { Naming } from '@countersign/protocol'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

export interface OpenApiDeps {
  readonly naming: Naming
  readonly serviceName: string
  readonly baseUrl: string
  readonly version: string
}

/** Collects the schemas of the routes that are registered after it. */
export async function collectOpenApi(app: FastifyInstance, deps: OpenApiDeps): Promise<void> {
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
        { name: 'agents', description: 'Getting a DID' },
        { name: 'relying parties', description: 'Deciding whom to admit' },
        { name: 'cards', description: 'Showing who an agent is' },
        { name: 'resolution', description: 'DID documents' },
        { name: 'operations', description: 'For whoever hosts the service' },
      ],
    },
  })
}

/** `/openapi.json`, for programs. */
export function serveOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    reply.header('access-control-allow-origin', '*').header('cache-control', 'public, max-age=300')
    return app.swagger()
  })
}

/** `/docs`: the same for people. */
export async function serveDocs(app: FastifyInstance): Promise<void> {
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true })
}
