import { ERROR_STATUS, type ErrorCode, type Naming } from '@countersign/protocol'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { allowAnyOrigin } from '../../http/cors.ts'
import { RATE_LIMIT_HEADERS } from '../../http/limits/rate-limit-headers.ts'
import type { RouteInfo } from '../../http/limits/route-info.ts'
import { once } from './docs-routes.ts'
import type { ApiDocument, Operation } from './openapi-types.ts'
import { publishOpenApi } from './published-openapi.ts'

export interface OpenApiDeps {
  readonly naming: Naming
  readonly serviceName: string
  readonly baseUrl: string
  readonly version: string
}

/**
 * Collects the schemas of the routes that are registered after it.
 * @param isLimited whether a route can answer 429
 */
export async function collectOpenApi(
  app: FastifyInstance,
  deps: OpenApiDeps,
  isLimited: (route: RouteInfo) => boolean,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: deps.serviceName,
        version: deps.version,
        description: `Identity certificates for software agents. DIDs begin with ${deps.naming.didPrefix}. Every string is well-formed Unicode, without lone surrogates.`,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: deps.baseUrl }],
      tags: [
        { name: 'claim', description: 'Get a DID' },
        { name: 'check', description: 'Verify agents and requests' },
        { name: 'show', description: 'Certificates, cards and badges' },
        { name: 'resolve', description: 'DID documents' },
        { name: 'oauth', description: 'OAuth authorization servers' },
        { name: 'learn', description: 'Documentation for agents' },
        { name: 'owner', description: 'Owner API' },
        { name: 'operate', description: 'Operator endpoints' },
      ],
    },
    transformObject: (made) =>
      ('openapiObject' in made ? withErrors(made.openapiObject as never, isLimited) : {}) as never,
  })
}

/** Adds the error codes of each operation as `x-errors`. */
function withErrors(document: ApiDocument, isLimited: (route: RouteInfo) => boolean): ApiDocument {
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

function withCodes({ method }: RouteInfo, operation: Operation, isLimited: boolean): Operation {
  const { responses } = operation
  const limited = { ...responses, '4XX': { ...responses['4XX'], headers: RATE_LIMIT_HEADERS } }
  return {
    ...operation,
    ...(isLimited ? { responses: limited as never } : {}),
    'x-errors': errorsOf(method, operation, isLimited),
  }
}

/** GET /openapi.json. */
export function serveOpenApi(app: FastifyInstance, deps: OpenApiDeps): void {
  const document = once(() => JSON.stringify(publishOpenApi(app.swagger() as never, deps)))
  app.get(
    '/openapi.json',
    { schema: { hide: true }, onRequest: allowAnyOrigin },
    async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300').type('application/json; charset=utf-8')
      return document()
    },
  )
}

/** Error codes that do not follow from the shape of an operation. */
const FURTHER: Readonly<Record<string, readonly ErrorCode[]>> = {
  claim: ['INVALID_SIGNATURE', 'NOT_FOUND', 'KEY_ALREADY_CLAIMED', 'TOKEN_EXPIRED'],
  verify: ['INVALID_SIGNATURE', 'NOT_FOUND'],
  identify: ['NOT_FOUND'],
  agentCertificate: ['AGENT_NOT_ACTIVE'],
  signAgentCard: ['AGENT_NOT_ACTIVE', 'CONFLICT'],
  challengeRuntime: ['FORBIDDEN'],
  answerRuntime: ['INVALID_SIGNATURE', 'TOKEN_EXPIRED', 'FORBIDDEN'],
  renounce: ['INVALID_SIGNATURE', 'FORBIDDEN', 'CONFLICT'],
  proveDirectory: ['INVALID_SIGNATURE', 'CONFLICT'],
  createApiKey: ['CONFLICT'],
  createWebhook: ['CONFLICT'],
  createGrantIssuer: ['CONFLICT'],
  assignGrantIssuer: ['CONFLICT'],
  agentClient: ['AGENT_NOT_ACTIVE'],
  issueGrant: [
    ...(['UNAUTHENTICATED', 'INVALID_SIGNATURE', 'FORBIDDEN', 'AGENT_NOT_ACTIVE'] as const),
    ...(['CONFLICT', 'RATE_LIMITED'] as const),
  ],
  testWebhook: ['RATE_LIMITED'],
  redeliverWebhook: ['CONFLICT', 'RATE_LIMITED'],
  rotateKey: ['INVALID_SIGNATURE', 'KEY_ALREADY_CLAIMED', 'AGENT_NOT_ACTIVE', 'CONFLICT'],
  recoverKey: [
    'INVALID_SIGNATURE',
    'KEY_ALREADY_CLAIMED',
    'AGENT_NOT_ACTIVE',
    'CONFLICT',
    'TOKEN_EXPIRED',
  ],
  vetoRecovery: ['INVALID_SIGNATURE', 'FORBIDDEN', 'CONFLICT'],
  contestKeys: ['KEY_ALREADY_CLAIMED', 'AGENT_NOT_ACTIVE', 'CONFLICT'],
  startRecovery: ['AGENT_NOT_ACTIVE', 'CONFLICT'],
  reissueRecoveryToken: ['RECENT_SIGN_IN_REQUIRED', 'AGENT_NOT_ACTIVE', 'CONFLICT'],
  cancelRecovery: ['CONFLICT'],
  issueToken: ['IDENTITY_REQUIRED', 'RECENT_SIGN_IN_REQUIRED'],
  issueTokens: ['IDENTITY_REQUIRED', 'RECENT_SIGN_IN_REQUIRED'],
  identityWebhook: ['INVALID_SIGNATURE'],
  beginProviderSignIn: ['NOT_FOUND'],
  linkSignInProvider: ['NOT_FOUND'],
  statusFeed: ['CURSOR_EXPIRED'],
}

/**
 * The error codes of an operation, sorted by status. Tests compare every response with this list. 405 is left out: it is
 * the answer to a method that has no operation.
 * @param isLimited whether the preview `rate-limit` applies
 */
function errorsOf(method: string, operation: Operation, isLimited: boolean): ErrorCode[] {
  const { operationId, summary, parameters = [], tags = [] } = operation
  const owners = tags.includes('owner')
  const changes = method !== 'GET'
  const told: Readonly<Partial<Record<ErrorCode, boolean>>> = {
    VALIDATION_ERROR: true,
    NOT_FOUND: parameters.some((each) => each.in === 'path'),
    // Every operation refuses an unknown API key, also those that need no session.
    UNAUTHENTICATED: owners,
    FORBIDDEN: owners,
    RECENT_SIGN_IN_REQUIRED: summary.includes('recent sign-in'),
    PRECONDITION_FAILED: true,
    PAYLOAD_TOO_LARGE: changes,
    UNSUPPORTED_MEDIA_TYPE: changes,
    RATE_LIMITED: isLimited,
    INTERNAL_ERROR: true,
    NOT_IMPLEMENTED: true,
    UNAVAILABLE: true,
  }
  const further = FURTHER[operationId] ?? []
  const codes = Object.keys(ERROR_STATUS) as ErrorCode[]
  return codes.filter((code) => told[code] === true || further.includes(code))
}
