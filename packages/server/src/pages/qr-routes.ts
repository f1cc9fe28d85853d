import { toString as toQrCode } from 'qrcode'
import { findAgentForPage } from '../agents/find-agent.ts'
import { BRIEFLY } from '../core/http/caching.ts'
import { pageParam, publicRead } from '../core/http/public-read.ts'
import type { App } from '../core/http/server.ts'
import { certificatePath } from '../core/site.ts'
import { INERT_PICTURE } from './badge-routes.ts'
import type { PageSide } from './page-side.ts'

/** The address of a certificate, for cameras. */
export function qrRoute(app: App, { read }: PageSide): void {
  publicRead(app, read.site.naming, {
    url: '/agent/:agent/qr.svg',
    cacheControl: BRIEFLY,
    schema: {
      operationId: 'qrCode',
      summary: 'A QR code of the address of the certificate',
      tags: ['show'],
      params: pageParam(),
      response: {
        200: {
          description: 'An SVG',
          content: { 'image/svg+xml': { schema: { type: 'string' } } },
        },
      },
    },
    handler: async (params: { agent: string }, reply) => {
      const { agent } = await findAgentForPage(read, params.agent)
      reply.type('image/svg+xml').headers(INERT_PICTURE).serializer(String)
      return toQrCode(read.site.baseUrl + certificatePath(read.site, agent), {
        type: 'svg',
        errorCorrectionLevel: 'M',
        margin: 2,
      })
    },
  })
}
