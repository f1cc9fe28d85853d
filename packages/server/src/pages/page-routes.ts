import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { ConcurrencyLimiter } from '../http/limits/concurrency-limiter.ts'
import type { App } from '../http/server.ts'
import { badgeRoute, previewRoute, qrRoute } from './badge-routes.ts'
import { certificateRoute } from './certificate-page-routes.ts'
import { checkRoutes } from './check-routes.ts'
import { consoleRoutes } from './console/console-routes.ts'
import { PreviewImages } from './preview-images.ts'
import { startRoutes } from './start-routes.ts'
import type { PageRouteContext } from './visitor.ts'

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
      wildcard: false,
      decorateReply: false,
      preCompressed: true,
      immutable: true,
      maxAge: '1y',
      schemaHide: true,
    })
  }
  startRoutes(app, context)
  await checkRoutes(app, context)
  await consoleRoutes(app, context)
  certificateRoute(app, context)
  badgeRoute(app, context)
  previewRoute(app, context)
  qrRoute(app, context)
}
