import { cached, REVALIDATE } from '../http/caching.ts'
import { pageHeaders } from '../http/page-headers.ts'
import type { App } from '../http/server.ts'
import { INERT_PICTURE } from './badge-routes.ts'
import { sampleCertificate } from './sample.ts'
import type { PageRouteContext } from './visitor.ts'
import { contextFor } from './visitor.ts'

/** GET /, the sample certificate and the favicon. */
export function startRoutes(app: App, context: PageRouteContext): void {
  const { read, pages } = context
  const headers = pageHeaders(read.site.baseUrl)
  app.get('/', {
    schema: { hide: true },
    onSend: cached(REVALIDATE),
    handler: async (request, reply) => {
      const html = pages.make.startPage(
        await contextFor(context, request, reply),
        sampleCertificate(read.site, read.now()),
      )
      return reply.headers(headers).type('text/html; charset=utf-8').send(html)
    },
  })
  app.get('/sample', {
    schema: { hide: true },
    onSend: cached(REVALIDATE),
    handler: async (request, reply) => {
      const sample = sampleCertificate(read.site, read.now())
      const html = pages.make.samplePage(await contextFor(context, request, reply), sample)
      return reply.headers(headers).type('text/html; charset=utf-8').send(html)
    },
  })
  app.get('/icon.svg', {
    schema: { hide: true },
    onSend: cached('public, max-age=86400'),
    handler: async (_request, reply) =>
      reply.headers(INERT_PICTURE).type('image/svg+xml').send(ICON_SVG),
  })
}

/** The logo as favicon, in colours that work on light and dark tab bars. */
const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke-linecap="round">' +
  '<circle cx="16" cy="16" r="15" fill="#fff" stroke="#1b1f19" stroke-width="1.6"/>' +
  '<path d="m8.6 16.4 5 5.2" stroke="#1b1f19" stroke-width="3.6"/>' +
  '<path d="M13.6 21.6 24 10.6" stroke="#0b5d4b" stroke-width="3.6"/></svg>'
