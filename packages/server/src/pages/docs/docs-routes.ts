import { CodedError } from '@countersign/protocol'
import type { FastifyReply } from 'fastify'
import { cached, REVALIDATE } from '../../core/http/caching.ts'
import { allowAnyOrigin } from '../../core/http/cors.ts'
import { pageHeaders } from '../../core/http/page-headers.ts'
import type { App } from '../../core/http/server.ts'
import type { DocsMap } from '../views/docs-view.ts'
import { type DocsSide, once } from './docs-side.ts'

const MARKDOWN = /\.md$/

/** The documentation, for people and, as Markdown, for whoever reads that. */
export function docsRoutes(app: App, { library, pages, api }: DocsSide): void {
  const headers = pageHeaders(library.names.baseUrl)
  const map = once((): DocsMap => {
    const groups = library.groups.map((each) => ({
      ...each,
      pages: each.pages.map((name) => library.page(name)),
    }))
    return { groups, api: api() }
  })
  const { context } = pages
  const asPage = (reply: FastifyReply, html: string) =>
    reply.headers(headers).type('text/html; charset=utf-8').send(html)
  const options = { schema: { hide: true }, onSend: cached(REVALIDATE) }

  app.get('/docs', {
    ...options,
    handler: (_request, reply) => asPage(reply, pages.make.docsIndexPage(context, map())),
  })
  app.get('/docs/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs', 308))
  app.get('/docs/api', {
    ...options,
    handler: (_request, reply) => asPage(reply, pages.make.apiIndexPage(context, map(), api())),
  })
  app.get('/docs/api/:group', {
    ...options,
    handler: (request, reply) => {
      const { group: name } = request.params as { group: string }
      const group = api().find((each) => each.name === name)
      if (group === undefined) throw new CodedError('NOT_FOUND', NO_GROUP)
      return asPage(reply, pages.make.apiGroupPage(context, map(), group))
    },
  })
  app.get('/docs/:page', {
    ...options,
    handler: (request, reply) => {
      const { page: name } = request.params as { page: string }
      const page = library.page(name.replace(MARKDOWN, ''))
      if (!MARKDOWN.test(name)) return asPage(reply, pages.make.docsPage(context, map(), page))
      allowAnyOrigin(request, reply, () => undefined)
      return reply.type('text/markdown; charset=utf-8').send(page.markdown)
    },
  })
}

const NO_GROUP = 'The HTTP reference has no part of this name.'
