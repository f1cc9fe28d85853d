import { CodedError, type Did } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AgentView } from '../agents/agent-record.ts'
import { NO_AGENT_WITH_USERNAME } from '../agents/find-agent.ts'
import { certificatePath } from '../base/site.ts'
import { CACHE_30_SECONDS } from '../http/caching.ts'
import { pageParam, publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import { type AgentAddress, resolveAddress } from './agent-address.ts'
import { type Certificate, certificateOf } from './certificate.ts'
import type { PageContext } from './views/page-context.ts'
import type { PreviewData } from './views/preview.tsx'
import type { PageRouteContext } from './visitor.ts'

const STYLES = ['flat', 'seal'] as const
/** Headers of images: opened as a document of its own, an image can run nothing and load nothing. */
export const INERT_PICTURE = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
}

/** The response of each page and picture to the username of an agent. */
export const TO_THE_DID = { type: 'null', description: 'Named by username: redirect to the DID' }

/**
 * Sends a visitor from a username to the same page or picture at the agent's DID, so that what they store or pass on still
 * names this agent after the username has changed hands. For the same reason, no cache stores where a username leads.
 */
export function redirectToDid(
  request: Pick<FastifyRequest, 'url'>,
  reply: FastifyReply,
  did: Did,
): FastifyReply {
  const rest = request.url.replace(/^\/agent\/[^/?]+/, '')
  return reply.header('cache-control', 'no-store').redirect(`/agent/${did}${rest}`, 302)
}

/** @throws CodedError NOT_FOUND */
export function refuseFreeName(): never {
  throw new CodedError('NOT_FOUND', NO_AGENT_WITH_USERNAME)
}

/** @throws CodedError NOT_FOUND for a username that no agent has */
function viewAt(address: Exclude<AgentAddress, { kind: 'username' }>): AgentView {
  return address.kind === 'agent' ? address.view : refuseFreeName()
}

/** GET /agent/{agent}/badge.svg: a badge for other sites, an SVG that follows the certificate. */
export function badgeRoute(app: App, { read, pages }: PageRouteContext): void {
  publicRead(app, read.site.naming, {
    url: '/agent/:agent/badge.svg',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'badge',
      summary: 'Get a badge with the certificate status',
      tags: ['show'],
      params: pageParam(),
      querystring: Type.Object({
        style: Type.Optional(
          Type.Enum([...STYLES], { type: 'string', description: 'flat or seal' }),
        ),
      }),
      response: {
        200: {
          description:
            'A self-contained SVG. For a username that no agent has, it says so, and on which day one gave it up',
          content: { 'image/svg+xml': { schema: { type: 'string' } } },
        },
        302: TO_THE_DID,
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const { style = 'flat' } = reply.request.query as { style?: (typeof STYLES)[number] }
      const address = await resolveAddress(read, params.agent)
      if (address.kind === 'username') return redirectToDid(reply.request, reply, address.did)
      reply.type('image/svg+xml').headers(INERT_PICTURE).serializer(String)
      if (address.kind === 'free') {
        return pages.make.freeNameBadgeSvg(pages.context, address.givenUpOn, style)
      }
      const certificate = certificateOf(read.site, address.view, read.now())
      return pages.make.badgeSvg(pages.context, certificate, style)
    },
  })
}

/** GET /agent/{agent}/preview.png: the image that social networks show for a certificate page. */
export function previewRoute(app: App, { read, pages, previews }: PageRouteContext): void {
  publicRead(app, read.site.naming, {
    url: '/agent/:agent/preview.png',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'preview',
      summary: 'Get the preview image of a certificate',
      tags: ['show'],
      params: pageParam(),
      response: {
        200: {
          description: 'A PNG of 1200 by 630 pixels',
          content: { 'image/png': { schema: { type: 'string' } } },
        },
        302: TO_THE_DID,
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const address = await resolveAddress(read, params.agent)
      if (address.kind === 'username') return redirectToDid(reply.request, reply, address.did)
      const certificate = certificateOf(read.site, viewAt(address), read.now())
      const png = await previews.of(previewDataOf(pages.context, certificate))
      reply.type('image/png').headers(INERT_PICTURE)
      return png
    },
  })
}

/** Picks the data of a preview image out of a certificate. */
function previewDataOf(
  { serviceName, site }: PageContext,
  { agent, grade, verification, verifiedName }: Certificate,
): PreviewData {
  return {
    serviceName,
    host: site.host,
    did: agent[site.naming.didField],
    displayName: agent.displayName,
    username: agent.username,
    status: agent.status,
    grade: grade.grade,
    owner: agent.owner?.displayName ?? null,
    verifiedName: verifiedName?.name ?? null,
    identity: verification?.label ?? null,
    developmentOnly: agent.developmentOnly ?? false,
  }
}

/** GET /agent/{agent}/qr.svg: the URL of the certificate page as a QR code. */
export function qrRoute(app: App, { read }: PageRouteContext): void {
  publicRead(app, read.site.naming, {
    url: '/agent/:agent/qr.svg',
    cacheControl: CACHE_30_SECONDS,
    schema: {
      operationId: 'qrCode',
      summary: 'Get a QR code with the URL of the certificate',
      tags: ['show'],
      params: pageParam(),
      response: {
        200: {
          description: 'An SVG',
          content: { 'image/svg+xml': { schema: { type: 'string' } } },
        },
        302: TO_THE_DID,
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const address = await resolveAddress(read, params.agent)
      if (address.kind === 'username') return redirectToDid(reply.request, reply, address.did)
      const { agent } = viewAt(address)
      reply.type('image/svg+xml').headers(INERT_PICTURE).serializer(String)
      const { default: qrCode } = await import('qrcode')
      return qrCode.toString(read.site.baseUrl + certificatePath(read.site, agent), {
        type: 'svg',
        errorCorrectionLevel: 'M',
        margin: 2,
      })
    },
  })
}
