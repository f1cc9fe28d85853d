import { certificateOf } from '../../domain/certificate.ts'
import { findAgentForPage } from '../../domain/find-agent.ts'
import type { App } from '../bare-app.ts'
import { BRIEFLY } from '../caching.ts'
import type { PageSide } from '../pages/page-side.ts'
import { previewFactsOf } from '../pages/preview-facts.ts'
import { pageParam, publicRead } from '../public-read.ts'
import { INERT_PICTURE } from './badge.ts'

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
