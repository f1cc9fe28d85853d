import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { App } from '../bare-app.ts'
import type { Room } from '../overload/room.ts'
import { badgeRoute } from '../routes/badge.ts'
import { certificateRoute } from '../routes/certificate.ts'
import { checkRoutes } from '../routes/check.ts'
import { frontRoutes } from '../routes/front.ts'
import { previewRoute } from '../routes/preview.ts'
import { qrRoute } from '../routes/qr.ts'
import type { PageSide } from './page-side.ts'
import { PreviewImages } from './preview-images.ts'

/**
 * Everything that people see without an account, and what their browsers load with it.
 * @param room for the previews that are being drawn
 */
export async function servePages(
  app: App,
  { room, ...parts }: Omit<PageSide, 'previews'> & { readonly room: Room },
): Promise<void> {
  const { pages } = parts
  const previews = new PreviewImages(pages, room)
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
