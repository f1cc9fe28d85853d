import { cached, REVALIDATE } from '../core/http/caching.ts'
import { pageHeaders } from '../core/http/page-headers.ts'
import type { App } from '../core/http/server.ts'
import { INERT_PICTURE } from './badge-routes.ts'
import { ICON_SVG } from './icon.ts'
import type { PageSide } from './page-side.ts'

/** The start page, and the icon of all pages. */
export function frontRoutes(app: App, { read, pages }: PageSide): void {
  const headers = pageHeaders(read.site.baseUrl)
  app.get('/', {
    schema: { hide: true },
    onSend: cached(REVALIDATE),
    handler: async (_request, reply) =>
      reply
        .headers(headers)
        .type('text/html; charset=utf-8')
        .send(pages.make.frontPage(pages.context)),
  })
  app.get('/icon.svg', {
    schema: { hide: true },
    onSend: cached('public, max-age=86400'),
    handler: async (_request, reply) =>
      reply.headers(INERT_PICTURE).type('image/svg+xml').send(ICON_SVG),
  })
}
