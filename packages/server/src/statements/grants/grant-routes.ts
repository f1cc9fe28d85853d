import {
  agentGrantsSchema,
  CodedError,
  errorSchema,
  type Grant,
  type GrantRequest,
  grantAssignmentSchema,
  grantIssuerMetadataSchema,
  grantIssuerSchema,
  grantIssuersSchema,
  grantKeySetSchema,
  grantRequestSchema,
  grantSchema,
  newGrantIssuerSchema,
  type RawRequest,
} from '@countersign/protocol'
import { Type } from 'typebox'
import {
  forApiKeys,
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import { OWN_AGENT, ownAgentParam } from '../../agents/find-agent.ts'
import type { Site } from '../../base/site.ts'
import type { Db } from '../../database/database.ts'
import { CACHE_ONE_MINUTE } from '../../http/caching.ts'
import { publicRead } from '../../http/public-read.ts'
import { receivedOf } from '../../http/received-request.ts'
import type { App } from '../../http/server.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import {
  assignIssuer,
  createIssuer,
  describeAgentGrants,
  type GrantIssuerDeps,
  grantIssuerUrl,
  ISSUERS_PATH,
  isIssuerDeleted,
  listIssuers,
  removeIssuer,
} from './manage-issuers.ts'

/** Registers the routes of an owner's grant issuers, and of which agents are assigned to them. */
export function grantIssuerRoutes(
  app: App,
  { deps, authenticator }: Pick<OwnerRouteContext<GrantIssuerDeps>, 'deps' | 'authenticator'>,
): void {
  app.get('/api/account/grant-issuers', {
    schema: ownerSchema({
      operationId: 'listGrantIssuers',
      summary: 'The grant issuers of the owner',
      ...forApiKeys('grants:read'),
      response: { 200: grantIssuersSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return { issuers: await listIssuers(deps, ownerId) }
    },
  })

  app.post('/api/account/grant-issuers', {
    schema: ownerSchema({
      operationId: 'createGrantIssuer',
      summary:
        'Create a grant issuer, with a random URL and keys of its own; a session needs a recent sign-in',
      ...forApiKeys('grants:write'),
      body: newGrantIssuerSchema(),
      response: { 201: grantIssuerSchema() },
    }),
    handler: async (request, reply) => {
      const by = await authenticator.recentOwner(request)
      return reply.code(201).send(await createIssuer(deps, by, request.body))
    },
  })

  app.delete('/api/account/grant-issuers/:id', {
    schema: ownerSchema({
      operationId: 'deleteGrantIssuer',
      summary: 'Delete a grant issuer; its agents get no more grants',
      ...forApiKeys('grants:write'),
      params: Type.Object({ id: Type.String({ description: 'as the list has it' }) }),
      response: { 204: noContent('Deleted') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.owner(request)
      await removeIssuer(deps, ownerId, request.params.id)
      return reply.code(204).send(null as never)
    },
  })

  app.get(`${OWN_AGENT}/grants`, {
    schema: ownerSchema({
      operationId: 'agentGrants',
      summary: 'The grant issuer of an agent, and the authorization servers it got grants for',
      ...forApiKeys('grants:read'),
      params: ownAgentParam(),
      response: { 200: agentGrantsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return describeAgentGrants(deps, ownerId, request.params.agent)
    },
  })

  app.put(`${OWN_AGENT}/grant-issuer`, {
    schema: ownerSchema({
      operationId: 'assignGrantIssuer',
      summary: 'Choose the issuer that signs the grants of an agent; null: none',
      ...forApiKeys('grants:write'),
      params: ownAgentParam(),
      body: grantAssignmentSchema(),
      response: { 200: agentGrantsSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.owner(request)
      return assignIssuer(deps, ownerId, request.params.agent, request.body)
    },
  })
}

interface IssuerMetadataDeps {
  readonly site: Site
  readonly db: Db
  readonly issuerKeys: IssuerKeys
}

/** The metadata of grant issuers (OpenID Connect Discovery, RFC 8414) and their key sets. */
export function issuerMetadataRoutes(app: App, deps: IssuerMetadataDeps): void {
  const { site, db, issuerKeys } = deps
  const { naming } = site
  const params = Type.Object({ id: Type.String({ description: 'the end of its URL' }) })

  const discovery = [
    [`${ISSUERS_PATH}/:id/.well-known/openid-configuration`, 'grantIssuerConfiguration'],
    [`/.well-known/oauth-authorization-server${ISSUERS_PATH}/:id`, 'grantIssuerMetadata'],
  ] as const
  for (const [url, operationId] of discovery) {
    publicRead(app, naming, {
      url,
      cacheControl: CACHE_ONE_MINUTE,
      schema: {
        operationId,
        summary: 'The metadata of a grant issuer',
        tags: ['oauth'],
        params,
        response: { 200: grantIssuerMetadataSchema() },
      },
      handler: async ({ id }: { id: string }) => {
        if (await isIssuerDeleted(db, id)) throw notFound()
        return metadataOf(site, id)
      },
    })
  }

  publicRead(app, naming, {
    url: `${ISSUERS_PATH}/:id/jwks.json`,
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'grantIssuerKeySet',
      summary: 'The keys with which a grant issuer signs',
      tags: ['oauth'],
      params,
      response: { 200: grantKeySetSchema() },
    },
    handler: async ({ id }: { id: string }) => {
      // After a 404, verifiers may continue to use the keys that they know.
      return (await isIssuerDeleted(db, id)) ? { keys: [] } : issuerKeys.grantKeySet(id)
    },
  })
}

function metadataOf(site: Site, id: string) {
  const issuer = grantIssuerUrl(site, id)
  return {
    issuer,
    jwks_uri: `${issuer}/jwks.json`,
    // Required by both standards. It has no authorization endpoint and no token endpoint.
    response_types_supported: ['id_token'],
    grant_types_supported: [],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    claims_supported: [...CLAIMS],
  }
}

const CLAIMS = [
  'iss',
  'sub',
  'aud',
  'iat',
  'exp',
  'jti',
  'identityMethod',
  'identityLevel',
  'grade',
  'resource',
] as const

function notFound(): CodedError {
  return new CodedError('NOT_FOUND', 'This grant issuer was deleted.')
}

export interface GrantRouteDeps {
  readonly issueGrant: (
    reference: string,
    received: RawRequest,
    request: GrantRequest,
  ) => Promise<Grant>
  /** The service's own origin. */
  readonly baseUrl: string
}

/** The route by which an agent gets a grant. No CORS: agents call it, not web pages. */
export function grantRoute(app: App, { issueGrant, baseUrl }: GrantRouteDeps): void {
  app.post('/api/v1/agent/:agent/grant', {
    schema: {
      operationId: 'issueGrant',
      summary: 'Get a grant for an authorization server (RFC 7523); a signed request',
      tags: ['oauth'],
      params: ownAgentParam(),
      body: grantRequestSchema(),
      response: { 200: grantSchema(), '4xx': errorSchema(), '5xx': errorSchema() },
    },
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return issueGrant(request.params.agent, receivedOf(request, baseUrl), request.body)
    },
  })
}
