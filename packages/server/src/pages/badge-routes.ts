import { Type } from 'typebox'
import { findAgentForPage } from '../agents/find-agent.ts'
import { BRIEFLY } from '../core/http/caching.ts'
import { pageParam, publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import { certificateOf } from './certificate.ts'
import type { PageSide } from './page-side.ts'

const STYLES = ['flat', 'seal'] as const
/** A picture that is opened as a page of its own can do nothing. */
export const INERT_PICTURE = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
}

/** A badge for other people's pages. */
export function badgeRoute(app: App, { read, pages }: PageSide): void {
  publicRead(app, read.site.naming, {
    url: '/agent/:agent/badge.svg',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'badge',
      summary: 'A badge that follows the certificate',
      tags: ['show'],
      params: pageParam(),
      querystring: Type.Object({
        style: Type.Optional(
          Type.Enum([...STYLES], { type: 'string', description: 'flat or seal' }),
        ),
      }),
      response: {
        200: {
          description: 'An SVG that needs nothing else',
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
