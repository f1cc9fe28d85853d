import { CodedError, grantIssuerMetadataSchema, grantKeySetSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { Db } from '../core/database/database.ts'
import { CACHE_ONE_MINUTE } from '../core/http/caching.ts'
import { publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import type { IssuerKeys } from '../core/issuer-keys/issuer-keys.ts'
import type { Site } from '../core/site.ts'
import { issuerById } from './grant-table.ts'

const PATH = '/oauth/issuers'

/** The URL of a grant issuer: the claim `iss` of its grants. */
export function grantIssuerUrl({ baseUrl }: Site, id: string): string {
  return `${baseUrl}${PATH}/${id}`
}

export interface IssuerMetadataDeps {
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
    [`${PATH}/:id/.well-known/openid-configuration`, 'grantIssuerConfiguration'],
    [`/.well-known/oauth-authorization-server${PATH}/:id`, 'grantIssuerMetadata'],
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
        const { deleted_at } = await requireIssuer(db, id)
        if (deleted_at !== null) throw notFound()
        return metadataOf(site, id)
      },
    })
  }

  publicRead(app, naming, {
    url: `${PATH}/:id/jwks.json`,
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'grantIssuerKeySet',
      summary: 'The keys with which a grant issuer signs',
      tags: ['oauth'],
      params,
      response: { 200: grantKeySetSchema() },
    },
    handler: async ({ id }: { id: string }) => {
      const { deleted_at } = await requireIssuer(db, id)
      // After a 404, verifiers may continue to use the keys that they know.
      return deleted_at === null ? issuerKeys.grantKeySet(id) : { keys: [] }
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
  ...['iss', 'sub', 'aud', 'iat', 'exp', 'jti'],
  ...['identityMethod', 'identityLevel', 'grade', 'resource'],
] as const

async function requireIssuer(db: Db, id: string) {
  // Compared with the database only in this form: PostgreSQL fails on U+0000.
  const row = /^[0-9a-f]{32}$/.test(id) ? await issuerById(db, id) : undefined
  if (row === undefined) throw notFound()
  return row
}

function notFound(): CodedError {
  return new CodedError('NOT_FOUND', 'There is no such grant issuer.')
}
