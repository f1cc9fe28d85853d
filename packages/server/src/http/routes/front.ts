import type { App } from '../bare-app.ts'
import { cached, REVALIDATE } from '../caching.ts'
import { pageHeaders } from '../page-headers.ts'
import { ICON_SVG } from '../pages/icon.ts'
import type { PageSide } from '../pages/page-side.ts'
import { INERT_PICTURE } from './badge.ts'

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
