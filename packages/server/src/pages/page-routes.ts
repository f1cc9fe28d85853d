import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { withCurrentChannels } from '../agents/current-channels.ts'
import { pendingRecovery } from '../agents/keys/list-keys.ts'
import { CACHE_PAGES, cached, REVALIDATE } from '../http/caching.ts'
import type { ConcurrencyLimiter } from '../http/limits/concurrency-limiter.ts'
import { pageHeaders } from '../http/page-headers.ts'
import { pageParam } from '../http/public-read.ts'
import { rendered, sendRendered } from '../http/rendered.ts'
import type { App } from '../http/server.ts'
import { errorResponsesAt } from '../http/wants-page.ts'
import { resolveAddress } from './agent-address.ts'
import {
  badgeRoute,
  INERT_PICTURE,
  previewRoute,
  qrRoute,
  redirectToDid,
  refuseFreeName,
  TO_THE_DID,
} from './badge-routes.ts'
import { certificateOf } from './certificate.ts'
import { checkRequestRoutes } from './check-request/check-request-routes.ts'
import { checkRoutes } from './check-routes.ts'
import { consoleRoutes } from './console/console-routes.ts'
import { PreviewImages } from './preview-images.ts'
import { sampleCertificate } from './sample.ts'
import { contextFor, type PageRouteContext } from './visitor.ts'

/**
 * The public pages and their assets.
 * @param previewLimiter bounds the preview images that are being rendered or wait for it
 */
export async function servePages(
  app: App,
  {
    previewLimiter,
    ...parts
  }: Omit<PageRouteContext, 'previews'> & { readonly previewLimiter: ConcurrencyLimiter },
): Promise<void> {
  const { pages } = parts
  const previews = new PreviewImages(pages, previewLimiter)
  app.addHook('onClose', () => previews.close())
  const context = { ...parts, previews }
  if (pages.isBuilt) {
    await app.register(fastifyStatic, {
      root: join(pages.dir, 'assets'),
      prefix: '/assets/',
      decorateReply: false,
      preCompressed: true,
      immutable: true,
      maxAge: '1y',
      schemaHide: true,
    })
  }
  startRoutes(app, context)
  await checkRoutes(app, context)
  await checkRequestRoutes(app, context)
  await consoleRoutes(app, context)
  certificateRoute(app, context)
  badgeRoute(app, context)
  previewRoute(app, context)
  qrRoute(app, context)
}

/** GET /agent/{agent}: the certificate page, to which `verifyUrl` and `certificateUrl` point (contract 2.2, 2.4). */
function certificateRoute(app: App, context: PageRouteContext): void {
  const { read, pages, loggedKeys, renderedPages } = context
  const headers = pageHeaders(read.site.baseUrl)

  const sendFreeName = async (
    request: FastifyRequest,
    reply: FastifyReply,
    name: string,
    givenUpOn: string | null,
  ) => {
    if (givenUpOn === null) return refuseFreeName()
    const html = pages.make.givenUpPage(await contextFor(context, request, reply), {
      name,
      givenUpOn,
    })
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', REVALIDATE)
    reply.code(410).headers(headers).type('text/html; charset=utf-8').serializer(String)
    return reply.send(html)
  }

  app.get('/agent/:agent', {
    schema: {
      operationId: 'certificate',
      summary: 'Show the certificate page of an agent',
      tags: ['show'],
      params: pageParam(),
      response: {
        200: { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } },
        302: TO_THE_DID,
        304: { type: 'null', description: 'Not modified (If-None-Match)' },
        410: {
          description: 'A page: the username was given up',
          content: { 'text/html': { schema: { type: 'string' } } },
        },
        ...errorResponsesAt('/agent/'),
      },
    },
    onSend: cached(REVALIDATE),
    handler: async (request, reply) => {
      const name = request.params.agent as string
      const address = await resolveAddress(read, name)
      if (address.kind === 'username') return redirectToDid(request, reply, address.did)
      if (address.kind === 'free') return sendFreeName(request, reply, name, address.givenUpOn)
      const view = await withCurrentChannels(read.db, address.view)
      const recovery = await pendingRecovery(read.db, view.agent.tail)
      const log = await loggedKeys.find(view.agent)
      const certificate = certificateOf(read.site, view, read.now(), { recovery, log })
      const pageContext = await contextFor(context, request, reply)
      const page = renderedPages.get(['certificate', pageContext.visitor, certificate], () =>
        pages.make.certificatePage(pageContext, certificate),
      )
      reply.headers(headers).type('text/html; charset=utf-8').serializer(String)
      return sendRendered(request, reply, page)
    },
  })
}

/** GET /, its preview image, the sample certificate and the favicon. */
function startRoutes(app: App, context: PageRouteContext): void {
  const { read, pages, previews, renderedPages } = context
  const headers = pageHeaders(read.site.baseUrl)
  for (const [url, page] of [
    ['/', 'startPage'],
    ['/sample', 'samplePage'],
  ] as const) {
    app.get(url, {
      schema: { hide: true },
      onSend: cached(CACHE_PAGES),
      handler: async (request, reply) => {
        const sample = sampleCertificate(read.site, read.now())
        const pageContext = await contextFor(context, request, reply)
        const html = renderedPages.get([page, pageContext.visitor, sample], () =>
          pages.make[page](pageContext, sample),
        )
        return sendRendered(request, reply.headers(headers).type('text/html; charset=utf-8'), html)
      },
    })
  }
  app.get('/preview.png', {
    schema: { hide: true },
    onSend: cached('public, max-age=86400'),
    handler: async (_request, reply) => {
      const { serviceName, site } = pages.context
      const png = await previews.of({ serviceName, host: site.host })
      return reply.headers(INERT_PICTURE).type('image/png').send(png)
    },
  })
  const icon = rendered(ICON_SVG)
  app.get('/icon.svg', {
    schema: { hide: true },
    onSend: cached('public, max-age=86400'),
    handler: (request, reply) =>
      sendRendered(request, reply.headers(INERT_PICTURE).type('image/svg+xml'), icon),
  })
}

/** The logo as favicon, in colours that work on light and dark tab bars. */
const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke-linecap="round">' +
  '<circle cx="16" cy="16" r="15" fill="#fff" stroke="#1b1f19" stroke-width="1.6"/>' +
  '<path d="m8.6 16.4 5 5.2" stroke="#1b1f19" stroke-width="3.6"/>' +
  '<path d="M13.6 21.6 24 10.6" stroke="#0b5d4b" stroke-width="3.6"/></svg>'
