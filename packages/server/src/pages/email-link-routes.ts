import { CodedError, isLoopback } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { developmentOutbox } from '../accounts/notifications/development-outbox.ts'
import {
  findPendingAddress,
  type NotificationDeps,
  verifyAddress,
} from '../accounts/notifications/email-addresses.ts'
import { readUnsubscribeOffer, unsubscribe } from '../accounts/notifications/email-preferences.ts'
import { pageHeaders } from '../http/page-headers.ts'
import type { App } from '../http/server.ts'
import type { EmailLinkPageData } from './email-link-data.ts'
import type { Pages } from './load-pages.ts'

/** The body of a POST is ignored: mail programs send one of several types (RFC 8058 section 3.1). */
const MAX_BODY_BYTES = 4096

/**
 * The pages that links in e-mails lead to. They need no sign-in. Mail scanners follow links: GET only shows a form, and POST
 * acts. The token is in the query, which is not logged.
 */
export async function emailLinkRoutes(
  app: App,
  { deps, pages }: { readonly deps: NotificationDeps; readonly pages: Pages },
): Promise<void> {
  const headers = {
    ...pageHeaders(deps.site.baseUrl),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  }
  const send = (reply: FastifyReply, data: EmailLinkPageData) =>
    reply
      .code(data.kind === 'invalid' ? 404 : 200)
      .headers(headers)
      .type('text/html; charset=utf-8')
      .send(pages.make.emailLinkPage(pages.context, data))

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    const options = { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES } as const
    scope.addContentTypeParser('*', options, async () => null)

    scope.get('/email/verify', { schema: { hide: true } }, async (request, reply) => {
      const token = tokenOf(request)
      const pending = await findPendingAddress(deps, token)
      if (pending === null) return send(reply, { kind: 'invalid', link: 'verify' })
      const { address, owner } = pending
      return send(reply, { kind: 'verify', token, address, username: owner.username })
    })

    scope.post('/email/verify', { schema: { hide: true } }, async (request, reply) => {
      const verified = await verifyAddress(deps, tokenOf(request))
      if (verified === null) return send(reply, { kind: 'invalid', link: 'verify' })
      const { address, owner } = verified
      return send(reply, { kind: 'verified', address, username: owner.username })
    })

    scope.get('/email/unsubscribe', { schema: { hide: true } }, async (request, reply) => {
      const token = tokenOf(request)
      const offer = readUnsubscribeOffer(deps, token)
      if (offer === null) return send(reply, { kind: 'invalid', link: 'unsubscribe' })
      return send(reply, { kind: 'unsubscribe', token, label: offer.label })
    })

    scope.post('/email/unsubscribe', { schema: { hide: true } }, async (request, reply) => {
      const offer = await unsubscribe(deps, tokenOf(request))
      if (offer === null) return send(reply, { kind: 'invalid', link: 'unsubscribe' })
      return send(reply, { kind: 'unsubscribed', label: offer.label })
    })
  })
}

function tokenOf({ query }: FastifyRequest): string {
  const { token } = query as { token?: unknown }
  return typeof token === 'string' ? token : ''
}

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
