import { JWS_ALGORITHMS, type JwsAlgorithm } from '@countersign/protocol'
import { Type } from 'typebox'
import { preferredType } from '../../agents/preferred-type.ts'
import type { Site } from '../../base/site.ts'
import { REVALIDATE } from '../../http/caching.ts'
import { agentParam, publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import { CERTIFICATE_TYPE_PATH } from './certificate-claims.ts'
import { certificateTypeMetadata } from './certificate-type.ts'
import type { Issuer } from './issue.ts'

export const CERTIFICATE_URL = '/api/v1/agent/:agent/certificate'
export const JWT_TYPE = 'application/jwt'
const SD_JWT_TYPE = 'application/dc+sd-jwt'

export interface CertificateRouteDeps {
  readonly site: Site
  readonly issuer: Issuer
}

/** Certificates and staples, and the metadata of the type of a certificate (SD-JWT VC section 6). */
export function certificateRoutes(app: App, { site, issuer }: CertificateRouteDeps): void {
  publicRead(app, site.naming, {
    url: CERTIFICATE_URL,
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'agentCertificate',
      summary: 'A signed certificate of an active agent, which anyone can verify offline',
      tags: ['resolve'],
      params: agentParam('agent'),
      querystring: algorithmQuery(),
      response: {
        200: {
          description: 'The certificate, in the format of the Accept header; a JWT by default',
          content: {
            [JWT_TYPE]: { schema: token('a JWT (RFC 7519) in compact form') },
            [SD_JWT_TYPE]: {
              schema: token('the same JWT, followed by ~: an SD-JWT VC without disclosures'),
            },
          },
        },
      },
    },
    handler: async (params: { agent: string }, reply, accept, query) => {
      const certificate = await issuer.certificate(params.agent, algorithmIn(query))
      const isSdJwt = prefersSdJwt(accept)
      const body = isSdJwt ? `${certificate}~` : certificate
      reply.type(isSdJwt ? SD_JWT_TYPE : JWT_TYPE).header('etag', tagOf(body))
      return body
    },
  })

  publicRead(app, site.naming, {
    url: '/api/v1/agent/:agent/staple',
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'agentStaple',
      summary: 'The signed status and grade of an agent, valid for 15 minutes',
      tags: ['resolve'],
      params: agentParam('agent'),
      querystring: algorithmQuery(),
      response: {
        200: {
          description: 'The staple',
          content: { [JWT_TYPE]: { schema: token('a JWT (RFC 7519) in compact form') } },
        },
      },
    },
    handler: async (params: { agent: string }, reply, _accept, query) => {
      const staple = await issuer.staple(params.agent, algorithmIn(query))
      reply.type(JWT_TYPE).header('etag', tagOf(staple))
      return staple
    },
  })

  const { schema, body } = certificateTypeMetadata(site)
  publicRead(app, site.naming, {
    url: CERTIFICATE_TYPE_PATH,
    cacheControl: 'public, max-age=3600',
    schema: {
      operationId: 'certificateType',
      summary: 'What the claims of a certificate mean (SD-JWT VC type metadata)',
      tags: ['resolve'],
      response: { 200: schema },
    },
    handler: async () => body,
  })
}

function prefersSdJwt(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes(SD_JWT_TYPE)) return false
  return preferredType(accept, [JWT_TYPE, SD_JWT_TYPE]) === SD_JWT_TYPE
}

/** The end of the signature, of which no two are alike. */
export function tagOf(token: string): string {
  return `"${token.slice(-32)}"`
}

function algorithmQuery() {
  return Type.Object({
    alg: Type.Optional(
      Type.Enum([...JWS_ALGORITHMS], {
        type: 'string',
        description: 'the algorithm of the signature: EdDSA (Ed25519) by default',
      }),
    ),
  })
}

function algorithmIn(query: unknown): JwsAlgorithm {
  return (query as { alg?: JwsAlgorithm }).alg ?? 'EdDSA'
}

function token(description: string) {
  return { type: 'string', description }
}
