import { JWS_ALGORITHMS, type JwsAlgorithm } from '@countersign/protocol'
import { Type } from 'typebox'
import type { AgentView } from '../../agents/agent-record.ts'
import type { ReadDeps } from '../../agents/find-agent.ts'
import { preferredType } from '../../agents/preferred-type.ts'
import type { Site } from '../../base/site.ts'
import { REVALIDATE } from '../../http/caching.ts'
import { type PlainDeps, plainAnswers } from '../../http/plain-answers.ts'
import { agentParam, publicRead } from '../../http/public-read.ts'
import type { AheadOfRouter, App } from '../../http/server.ts'
import { CERTIFICATE_TYPE_PATH } from './certificate-claims.ts'
import { certificateTypeMetadata } from './certificate-type.ts'
import type { Issuer } from './issue.ts'

export const CERTIFICATE_URL = '/api/v1/agent/:agent/certificate'
const JWT_TYPE = 'application/jwt'
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

export interface PlainCertificateDeps extends Omit<PlainDeps, 'naming'> {
  readonly read: ReadDeps
  readonly issuer: Issuer
}

/** Answers plain requests for certificates in the default format, of agents in memory, ahead of the router. */
export function answerPlainCertificates(deps: PlainCertificateDeps): AheadOfRouter {
  const { read, issuer, metrics, isReady } = deps
  const plain = { naming: read.site.naming, metrics, isReady }
  return plainAnswers(plain, CERTIFICATE_URL, (tail, rawHeaders) => {
    if (namesSdJwt(rawHeaders)) return null
    const view = read.readModel.inMemory(tail)
    const body = view && atOnce(issuer, view)
    if (body === null) return null
    return { headers: { 'content-type': JWT_TYPE, etag: tagOf(body) }, body }
  })
}

/** Null also for what cannot be issued now: the router's handler fails in the same way and answers the error. */
function atOnce(issuer: Issuer, view: AgentView): string | null {
  try {
    return issuer.certificateAtOnce(view, 'EdDSA')
  } catch {
    return null
  }
}

/** Whether the client may prefer the other format. */
function namesSdJwt(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length !== 6 || name.toLowerCase() !== 'accept') continue
    if (/sd-jwt/i.test(rawHeaders[i + 1] as string)) return true
  }
  return false
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
