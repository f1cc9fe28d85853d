import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatVerifierKey } from '@countersign/protocol'
import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import { pino } from 'pino'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { VERSION } from '../../packages/server/src/base/version.ts'
import type { Features } from '../../packages/server/src/pages/docs/deployment-names.ts'
import { startService } from '../../packages/server/src/service/service.ts'
import { withErrors } from './error-codes.ts'
import type { ApiDocument } from './openapi-types.ts'
import { STAND_IN, STAND_IN_NAMES } from './stand-ins.ts'

/**
 * The OpenAPI document of a service with stand-ins for its names: from the schemas of the routes that a real service
 * registers.
 */
export async function collectOpenApi(features: Features): Promise<ApiDocument> {
  const app = fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: STAND_IN.serviceName,
        version: VERSION,
        description: `Identity certificates for software agents. DIDs begin with ${STAND_IN_NAMES.naming.didPrefix}. Every string is well-formed Unicode, without lone surrogates.`,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: STAND_IN.baseUrl }],
      tags: [
        { name: 'claim', description: 'Get a DID' },
        { name: 'check', description: 'Verify agents and requests' },
        { name: 'show', description: 'Certificates, cards and badges' },
        { name: 'resolve', description: 'DID documents' },
        { name: 'oauth', description: 'OAuth authorization servers' },
        { name: 'approvals', description: 'Approvals of single requests' },
        { name: 'learn', description: 'Documentation for agents' },
        { name: 'owner', description: 'Owner API' },
        { name: 'scim', description: 'SCIM 2.0, for identity providers' },
        { name: 'operate', description: 'Operator endpoints' },
      ],
    },
  })
  for (const { method, url, schema } of await routesOfService(features))
    app.route({ method, url, ...(schema && { schema }), handler: () => undefined })
  await app.ready()
  return withErrors(app.swagger() as never)
}

/** Starts a service, and stops it as soon as its routes are registered. */
async function routesOfService(features: Features): Promise<RouteOptions[]> {
  const routes: RouteOptions[] = []
  // Fastify publishes each server that is made, before it has routes.
  const listen = (message: unknown) => {
    const { fastify: server } = message as { fastify: FastifyInstance }
    server.addHook('onRoute', (route) => {
      if (route.method !== 'HEAD') routes.push(route)
    })
  }
  const dir = mkdtempSync(join(tmpdir(), 'countersign-docs-'))
  subscribe('fastify.initialization', listen)
  try {
    const env = settingsOf(dir, features)
    const service = await startService(readSettings(env), pino({ level: 'silent' }), env)
    await service.stop()
    return routes
  } finally {
    unsubscribe('fastify.initialization', listen)
    rmSync(dir, { recursive: true })
  }
}

function settingsOf(dir: string, { witness, cardFormats }: Features): Record<string, string> {
  const logs = join(dir, 'witness-logs')
  const name = 'log.example/log/1'
  const publicKey = Buffer.from('11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=', 'base64')
  writeFileSync(logs, `log ${formatVerifierKey({ name, type: 'ed25519', publicKey })}\n`)
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: 'off',
    DATA_DIR: join(dir, 'data'),
    DRAIN_SECONDS: '0',
    BASE_URL: STAND_IN.baseUrl,
    SHORT_NAME: STAND_IN.shortName,
    ID_HEADER: STAND_IN.idHeader,
    SERVICE_NAME: STAND_IN.serviceName,
    ...(witness && { WITNESS_LOGS: logs }),
    ...(cardFormats && { PREVIEWS: 'card-formats' }),
  }
}
