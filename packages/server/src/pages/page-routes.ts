import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { App } from '../core/http/server.ts'
import type { ConcurrencyLimiter } from '../core/limits/concurrency-limiter.ts'
import { badgeRoute, previewRoute, qrRoute } from './badge-routes.ts'
import { certificateRoute } from './certificate-routes.ts'
import { checkRoutes } from './check-routes.ts'
import type { PageSide } from './page-side.ts'
import { PreviewImages } from './preview-images.ts'
import { frontRoutes } from './start-routes.ts'

/**
 * Everything that people see without an account, and what their browsers load with it.
 * @param room for the previews that are being drawn
 */
export async function servePages(
  app: App,
  {
    previewLimiter,
    ...parts
  }: Omit<PageSide, 'previews'> & { readonly previewLimiter: ConcurrencyLimiter },
): Promise<void> {
  const { pages } = parts
  const previews = new PreviewImages(pages, previewLimiter)
  app.addHook('onClose', () => previews.close())
  const side = { ...parts, previews }
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
  frontRoutes(app, side)
  await checkRoutes(app, side)
  certificateRoute(app, side)
  badgeRoute(app, side)
  previewRoute(app, side)
  qrRoute(app, side)
}
