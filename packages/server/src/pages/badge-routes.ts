import { Type } from 'typebox'
import { findAgentForPage } from '../agents/find-agent.ts'
import { certificatePath } from '../base/site.ts'
import { CACHE_30_SECONDS } from '../http/caching.ts'
import { pageParam, publicRead } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
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
          description: 'A self-contained SVG',
          content: { 'image/svg+xml': { schema: { type: 'string' } } },
        },
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const { style = 'flat' } = reply.request.query as { style?: (typeof STYLES)[number] }
      const view = await findAgentForPage(read, params.agent)
      const certificate = certificateOf(read.site, view, read.now())
      reply.type('image/svg+xml').headers(INERT_PICTURE).serializer(String)
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
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const view = await findAgentForPage(read, params.agent)
      const certificate = certificateOf(read.site, view, read.now())
      const png = await previews.of(previewDataOf(pages.context, certificate))
      reply.type('image/png').headers(INERT_PICTURE)
      return png
    },
  })
}

/** Picks the data of a preview image out of a certificate. */
function previewDataOf(
  { serviceName, site }: PageContext,
  { agent, grade, verification }: Certificate,
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
    verifiedName: agent.ownerName?.verified?.name ?? null,
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
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const { agent } = await findAgentForPage(read, params.agent)
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
