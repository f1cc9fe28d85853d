import {
  certificateClaimsSchema,
  type IssuerKeySet,
  issuerKeySetSchema,
  JWS_ALGORITHMS,
  type JwsAlgorithm,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { ReadDeps } from '../../agents/find-agent.ts'
import { preferredType } from '../../agents/preferred-type.ts'
import type { Site } from '../../base/site.ts'
import { CACHE_ONE_MINUTE, REVALIDATE } from '../../http/caching.ts'
import { serializerOf } from '../../http/compile-schemas.ts'
import {
  acceptIn,
  JSON_UTF8,
  type PlainAnswer,
  type PlainDeps,
  plainAnswer,
  plainAnswers,
  taggedAnswer,
} from '../../http/plain-answers.ts'
import { agentParam, publicRead } from '../../http/public-read.ts'
import type { AheadOfRouter, App } from '../../http/server.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import { CERTIFICATE_TYPE_PATH } from './certificate-claims.ts'
import type { Issuer } from './issue.ts'

export const CERTIFICATE_URL = '/api/v1/agent/:agent/certificate'
const JWT_TYPE = 'application/jwt'
const SD_JWT_TYPE = 'application/dc+sd-jwt'

interface CertificateRouteDeps {
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

interface PlainCertificateDeps extends Omit<PlainDeps, 'naming'> {
  readonly read: ReadDeps
  readonly issuer: Issuer
}

/** Answers plain requests for certificates in the default format, of agents in memory, ahead of the router. */
export function answerPlainCertificates(deps: PlainCertificateDeps): AheadOfRouter {
  const { read, issuer, metrics, isReady } = deps
  const plain = { naming: read.site.naming, metrics, isReady }
  return plainAnswers(
    plain,
    { url: CERTIFICATE_URL, cacheControl: REVALIDATE },
    (tail, rawHeaders) => {
      if (/sd-jwt/i.test(acceptIn(rawHeaders) ?? '')) return null
      const view = read.readModel.inMemory(tail)
      const body = view && orNull(() => issuer.certificateAtOnce(view, 'EdDSA'))
      if (body === null) return null
      return { headers: ['content-type', JWT_TYPE, 'etag', tagOf(body)], body, length: body.length }
    },
  )
}

/** Null also for what cannot be made now: the router's handler fails in the same way and answers the error. */
function orNull<T>(make: () => T): T | null {
  try {
    return make()
  } catch {
    return null
  }
}

function prefersSdJwt(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes(SD_JWT_TYPE)) return false
  return preferredType(accept, [JWT_TYPE, SD_JWT_TYPE]) === SD_JWT_TYPE
}

/** The end of the signature, of which no two are alike. */
function tagOf(token: string): string {
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

/** Claims whose meaning is that of a standard (RFC 7519, RFC 7800, SD-JWT VC). */
const STANDARD = new Set(['iss', 'sub', 'iat', 'exp', 'jti', 'vct', 'cnf', 'status'])

const typeMetadataSchema = () =>
  Type.Object(
    {
      vct: Type.String({ description: 'the type: the address of this document' }),
      name: Type.String(),
      description: Type.String(),
      claims: Type.Array(
        Type.Object({
          path: Type.Array(Type.String()),
          sd: Type.Literal('never'),
          mandatory: Type.Boolean(),
          description: Type.Optional(Type.String()),
        }),
        { description: 'the claims, none of which can be withheld' },
      ),
    },
    { description: 'SD-JWT VC type metadata' },
  )

/** The metadata of the type of a certificate, from the schema of its claims. */
function certificateTypeMetadata(site: Site) {
  const { properties, required } = certificateClaimsSchema(site.naming)
  const claims = Object.entries(properties)
    .filter(([name]) => !STANDARD.has(name))
    .map(([name, schema]) => {
      const { description } = schema as { readonly description?: string }
      const mandatory = (required as readonly string[]).includes(name)
      return { path: [name], sd: 'never', mandatory, ...(description ? { description } : {}) }
    })
  return {
    schema: typeMetadataSchema(),
    body: {
      vct: site.baseUrl + CERTIFICATE_TYPE_PATH,
      name: 'Agent certificate',
      description:
        'States which key a software agent has, how its owner’s identity was verified, and its grade. Valid only with a signature by that key.',
      claims,
    },
  }
}

export const ISSUER_KEY_SET_PATH = '/.well-known/jwks.json'

/** Answers plain requests for the key set of the issuer before the router. */
export function answerPlainKeySet(
  deps: Omit<PlainDeps, 'naming'>,
  issuerKeys: IssuerKeys,
): AheadOfRouter {
  const write = serializerOf(issuerKeySetSchema())
  const route = { url: ISSUER_KEY_SET_PATH, cacheControl: CACHE_ONE_MINUTE }
  let known: IssuerKeySet | null = null
  let answer: PlainAnswer | null = null
  return plainAnswer(deps, route, () => {
    const keySet = orNull(() => issuerKeys.keySet())
    // The ring has another object after each time it read the keys.
    if (keySet === null || keySet !== known)
      answer = keySet && taggedAnswer(JSON_UTF8, write(keySet))
    known = keySet
    return answer
  })
}

interface IssuerKeyRouteDeps {
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
