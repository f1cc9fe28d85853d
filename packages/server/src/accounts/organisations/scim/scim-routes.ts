import {
  CodedError,
  newScimUserSchema,
  SCIM_TYPE,
  scimErrorSchema,
  scimListSchema,
  scimPatchSchema,
  scimUserSchema,
  scimUsersQuerySchema,
} from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { acceptJson } from '../../../http/json-body.ts'
import { SCIM_BASE, SCIM_JSON } from '../../../http/scim-errors.ts'
import type { App } from '../../../http/server.ts'
import { noContent } from '../../owners/owner-routes.ts'
import { readScimPatch, readScimUser } from './scim-attributes.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './scim-documents.ts'
import type { ScimRequests } from './scim-requests.ts'
import { authenticateScim, type ScimCaller, type ScimDeps } from './scim-tokens.ts'
import {
  changeScimUser,
  createScimUser,
  listScimUsers,
  readUser,
  removeScimUser,
  replaceScimUser,
  type ScimRequest,
} from './scim-users.ts'

/** Room for 100 operations. */
const BODY_LIMIT = 64 * 1024

type IdParams = { Params: { id: string } }

/**
 * Registers SCIM 2.0 (RFC 7644) for the identity providers of organisations, which authenticate by a token: without cookies and
 * CORS, and with the errors of SCIM.
 */
export async function scimRoutes(app: App, deps: ScimDeps, requests: ScimRequests): Promise<void> {
  await app.register(
    async (plain) => {
      const scope = plain as unknown as FastifyInstance
      acceptJson(scope, SCIM_TYPE)
      scope.addHook('onResponse', (request, reply, done) => {
        requests.add(operationOf(request), reply.statusCode)
        done()
      })
      scope.addHook('onRequest', (_request, reply, done) => {
        reply.header('cache-control', 'no-store')
        done()
      })
      documentRoutes(scope, deps)
      userRoutes(scope, deps)
      unsupportedRoutes(scope, deps)
    },
    { prefix: SCIM_BASE },
  )
}

function documentRoutes(scope: FastifyInstance, deps: ScimDeps): void {
  const documents = [
    ['scimConfig', '/ServiceProviderConfig', serviceProviderConfig(deps.site.baseUrl)],
    ['scimResourceTypes', '/ResourceTypes', resourceTypes()],
    ['scimSchemas', '/Schemas', schemas()],
  ] as const
  for (const [operationId, url, document] of documents) {
    scope.get(url, {
      schema: scimSchema({
        operationId,
        summary: SUMMARIES[operationId],
        response: { 200: json('What the service supports', Type.Unsafe(DOCUMENT)) },
      }),
      handler: async (request, reply) => {
        await callerOf(deps, request)
        return send(reply, document)
      },
    })
  }
}

const SUMMARIES = {
  scimConfig: 'What of SCIM the service supports (RFC 7643 section 5)',
  scimResourceTypes: 'The types of resources: users',
  scimSchemas: 'The attributes of users that the service stores',
} as const

const DOCUMENT = {
  type: 'object',
  title: 'ScimDocument',
  additionalProperties: true,
} as const

function userRoutes(scope: FastifyInstance, deps: ScimDeps): void {
  scope.get<{ Querystring: Record<string, string> }>('/Users', {
    schema: scimSchema({
      operationId: 'listScimUsers',
      summary: 'Find users of the organisation',
      querystring: scimUsersQuerySchema(),
      response: { 200: json('A page of users', scimListSchema(scimUserSchema(), 'ScimUsers')) },
    }),
    handler: async (request, reply) =>
      send(reply, await listScimUsers(deps, await callerOf(deps, request), request.query)),
  })

  scope.post('/Users', {
    bodyLimit: BODY_LIMIT,
    schema: scimSchema({
      operationId: 'createScimUser',
      summary: 'Add a user, who becomes no member by that',
      body: body(newScimUserSchema()),
      response: { 201: json('The user', scimUserSchema()) },
    }),
    handler: async (request, reply) => {
      const change = await requestOf(deps, request)
      const user = await createScimUser(deps, change, readScimUser(request.body))
      return send(reply.code(201).header('location', user.meta.location), user)
    },
  })

  scope.get<IdParams>('/Users/:id', {
    schema: scimSchema({
      operationId: 'readScimUser',
      summary: 'A user, also an inactive one',
      params: userParams(),
      response: { 200: json('The user', scimUserSchema()) },
    }),
    handler: async (request, reply) =>
      send(reply, await readUser(deps, await callerOf(deps, request), request.params.id)),
  })

  scope.put<IdParams>('/Users/:id', {
    bodyLimit: BODY_LIMIT,
    schema: scimSchema({
      operationId: 'replaceScimUser',
      summary: 'Replace a user; active false ends the membership of the person',
      params: userParams(),
      body: body(newScimUserSchema()),
      response: { 200: json('The user', scimUserSchema()) },
    }),
    handler: async (request, reply) => {
      const change = await requestOf(deps, request)
      const attributes = readScimUser(request.body)
      return send(reply, await replaceScimUser(deps, change, request.params.id, attributes))
    },
  })

  scope.patch<IdParams>('/Users/:id', {
    bodyLimit: BODY_LIMIT,
    schema: scimSchema({
      operationId: 'changeScimUser',
      summary: 'Change a user; active false ends the membership of the person',
      params: userParams(),
      body: body(scimPatchSchema()),
      response: { 200: json('The user', scimUserSchema()) },
    }),
    handler: async (request, reply) => {
      const change = await requestOf(deps, request)
      const attributes = readScimPatch(request.body)
      return send(reply, await changeScimUser(deps, change, request.params.id, attributes))
    },
  })

  scope.delete<IdParams>('/Users/:id', {
    schema: scimSchema({
      operationId: 'removeScimUser',
      summary: 'Delete a user; ends the membership of the person',
      params: userParams(),
      response: { 204: noContent('Deleted') },
    }),
    handler: async (request, reply) => {
      await removeScimUser(deps, await requestOf(deps, request), request.params.id)
      return reply.code(204).send()
    },
  })
}

/** Roles follow the groups of the sign-in, so that groups are not taken here. */
function unsupportedRoutes(scope: FastifyInstance, deps: ScimDeps): void {
  for (const url of ['/Groups', '/Groups/*', '/Bulk', '/Me', '/.search', '/Users/.search']) {
    scope.route({
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url,
      bodyLimit: BODY_LIMIT,
      schema: { hide: true } as object,
      handler: async (request) => {
        await callerOf(deps, request)
        throw new CodedError(
          'NOT_IMPLEMENTED',
          'The service takes users only. Roles follow the groups of the sign-in.',
        )
      },
    })
  }
}

function callerOf(deps: ScimDeps, { headers }: FastifyRequest): Promise<ScimCaller> {
  return authenticateScim(deps, headers.authorization)
}

async function requestOf(deps: ScimDeps, request: FastifyRequest): Promise<ScimRequest> {
  const caller = await callerOf(deps, request)
  return { caller, id: request.id, operation: operationOf(request) }
}

function operationOf({ routeOptions }: FastifyRequest): string {
  return (routeOptions.schema as { operationId?: string }).operationId ?? 'unsupported'
}

function send(reply: FastifyReply, document: object): FastifyReply {
  return reply.type(SCIM_JSON).send(document)
}

/** Adds the tag and the errors of SCIM to the schema of a route. */
function scimSchema<T extends { readonly response: object }>(schema: T) {
  const error = json('An error', scimErrorSchema())
  return { tags: ['scim'], ...schema, response: { '4xx': error, '5xx': error, ...schema.response } }
}

function userParams() {
  return Type.Object({ id: Type.String({ description: 'the id of the user: su_…' }) })
}

function json(description: string, schema: TSchema) {
  return { description, content: { [SCIM_TYPE]: { schema } } }
}

/** Identity providers send either media type. */
function body(schema: TSchema) {
  return { content: { [SCIM_TYPE]: { schema }, 'application/json': { schema } } }
}
