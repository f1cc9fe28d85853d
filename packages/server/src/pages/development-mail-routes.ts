import { CodedError, isLoopback } from '@countersign/protocol'
import { developmentOutbox } from '../accounts/notifications/development-outbox.ts'
import type { NotificationDeps } from '../accounts/notifications/email-addresses.ts'
import { pageHeaders } from '../http/page-headers.ts'
import type { App } from '../http/server.ts'
import type { Pages } from './load.ts'

/**
 * /development/mail: the e-mails of a deployment on a developer's machine, which has no SMTP server. They contain links that
 * verify addresses, so only this machine may read them, and no page of another host name that resolves to it.
 */
export function developmentMailRoute(
  app: App,
  { deps, pages }: { readonly deps: NotificationDeps; readonly pages: Pages },
): void {
  if (deps.mailDelivery !== 'development') return
  const headers = {
    ...pageHeaders(deps.site.baseUrl),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  }
  app.get('/development/mail', { schema: { hide: true } }, async (request, reply) => {
    if (!isLoopback(request.ip) || request.headers.host !== deps.site.host)
      throw new CodedError('NOT_FOUND', 'There is nothing here.')
    const emails = await developmentOutbox(deps)
    return reply
      .headers(headers)
      .type('text/html; charset=utf-8')
      .send(pages.make.developmentMailPage(pages.context, emails))
  })
}
