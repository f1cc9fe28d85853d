import { issuerKeySetSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { Site } from '../../base/site.ts'
import { CACHE_ONE_MINUTE } from '../../http/caching.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'

const ISSUER_KEY_SET_PATH = '/.well-known/jwks.json'

export interface IssuerKeyRouteDeps {
  readonly site: Site
  readonly issuerKeys: IssuerKeys
}

/** The public keys that sign certificates, status lists and the feed, and the issuer's metadata (SD-JWT VC section 5). */
export function issuerKeyRoutes(app: App, { site, issuerKeys }: IssuerKeyRouteDeps): void {
  publicRead(app, site.naming, {
    url: ISSUER_KEY_SET_PATH,
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'issuerKeySet',
      summary: 'The keys that sign certificates, status lists and the feed',
      tags: ['resolve'],
      response: { 200: issuerKeySetSchema() },
    },
    handler: async () => issuerKeys.keySet(),
  })

  const metadata = { issuer: site.baseUrl, jwks_uri: site.baseUrl + ISSUER_KEY_SET_PATH }
  publicRead(app, site.naming, {
    url: '/.well-known/jwt-vc-issuer',
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'issuerMetadata',
      summary: 'Where the keys of this issuer are (SD-JWT VC issuer metadata)',
      tags: ['resolve'],
      response: {
        200: Type.Object(
          {
            issuer: Type.String({ description: 'as in the claim iss of a certificate' }),
            jwks_uri: Type.String({ description: 'the address of the issuer’s key set' }),
          },
          { description: 'The metadata of the issuer' },
        ),
      },
    },
    handler: async () => metadata,
  })
}
