import { withCurrentChannels } from '../agents/current-channels.ts'
import { findAgentForPage } from '../agents/find-agent.ts'
import { pendingRecovery } from '../agents/keys/list-keys.ts'
import { cached, REVALIDATE } from '../http/caching.ts'
import { pageHeaders } from '../http/page-headers.ts'
import { pageParam } from '../http/public-read.ts'
import type { App } from '../http/server.ts'
import { errorResponsesAt } from '../http/wants-page.ts'
import { certificateOf } from './certificate.ts'
import type { PageRouteContext } from './visitor.ts'
import { contextFor } from './visitor.ts'

/** GET /agent/{agent}: the certificate page, to which `verifyUrl` and `certificateUrl` point (contract 2.2, 2.4). */
export function certificateRoute(app: App, context: PageRouteContext): void {
  const { read, pages, loggedKeys } = context
  const headers = pageHeaders(read.site.baseUrl)
  app.get('/agent/:agent', {
    schema: {
      operationId: 'certificate',
      summary: 'Show the certificate page of an agent',
      tags: ['show'],
      params: pageParam(),
      response: {
        200: { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } },
        304: { type: 'null', description: 'Not modified (If-None-Match)' },
        ...errorResponsesAt('/agent/'),
      },
    },
    onSend: cached(REVALIDATE),
    handler: async (request, reply) => {
      const found = await findAgentForPage(read, request.params.agent as string)
      const view = await withCurrentChannels(read.db, found)
      const recovery = await pendingRecovery(read.db, view.agent.tail)
      const log = await loggedKeys.find(view.agent)
      const certificate = certificateOf(read.site, view, read.now(), { recovery, log })
      const html = pages.make.certificatePage(
        await contextFor(context, request, reply),
        certificate,
      )
      return reply.headers(headers).type('text/html; charset=utf-8').serializer(String).send(html)
    },
  })
}
