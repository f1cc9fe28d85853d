import { CodedError, grantIssuerMetadataSchema, grantKeySetSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { Site } from '../../base/site.ts'
import type { Db } from '../../database/database.ts'
import { CACHE_ONE_MINUTE } from '../../http/caching.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import { grantIssuerUrl, ISSUERS_PATH } from './issuer-url.ts'
import { isIssuerDeleted } from './manage-issuers.ts'

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
  ...['iss', 'sub', 'aud', 'iat', 'exp', 'jti'],
  ...['identityMethod', 'identityLevel', 'grade', 'resource'],
] as const

function notFound(): CodedError {
  return new CodedError('NOT_FOUND', 'This grant issuer was deleted.')
}
