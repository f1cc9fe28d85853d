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
        { name: 'claim', description: 'Getting a DID' },
        { name: 'check', description: 'Deciding whom to admit' },
        { name: 'show', description: 'Showing who an agent is' },
        { name: 'resolve', description: 'DID documents' },
        { name: 'owner', description: 'What owners do: the dashboard, or your own' },
        { name: 'operate', description: 'For whoever hosts the service' },
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

/** Nothing from elsewhere, nothing to elsewhere. The page sets styles on its own elements. */
const DOCS_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** `/docs`: the same for people. */
export async function serveDocs(app: FastifyInstance, serviceName: string): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_CSP,
    theme: { title: `${serviceName} API`, favicon: [] },
    uiConfig: { layout: 'BaseLayout', validatorUrl: null, deepLinking: true },
  })
}
