import { findAgentForPage } from '../agents/find-agent.ts'
import { BRIEFLY } from '../core/http/caching.ts'
import { pageParam, publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import { INERT_PICTURE } from './badge-routes.ts'
import { certificateOf } from './certificate.ts'
import type { PageSide } from './page-side.ts'
import { previewFactsOf } from './preview-facts.ts'

/** What social networks show of a certificate. */
export function previewRoute(app: App, { read, pages, previews }: PageSide): void {
  publicRead(app, read.site.naming, {
    url: '/agent/:agent/preview.png',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'preview',
      summary: 'The certificate as a picture, for social networks',
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
      const png = await previews.of(previewFactsOf(pages.context, certificate))
      reply.type('image/png').headers(INERT_PICTURE)
      return png
    },
  })
}
