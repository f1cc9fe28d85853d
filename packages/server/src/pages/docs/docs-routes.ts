import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { cached, REVALIDATE } from '../../http/caching.ts'
import { allowAnyOrigin } from '../../http/cors.ts'
import { pageHeaders } from '../../http/page-headers.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { Pages } from '../load.ts'
import type { PageContext } from '../views/context.ts'
import type { DocsMap } from '../views/docs-view.ts'
import { contextFor, type VisitorDeps } from '../visitor.ts'
import type { ApiGroup } from './api-model.ts'
import { deployFile } from './deploy-file.ts'
import type { Library } from './library.ts'
import { MAX_QUERY, search, searchIndex } from './search.ts'
import { llmsText, skillName, skillOf, skillsIndex } from './skill.ts'

const MARKDOWN = /\.md$/

/** The documentation as HTML pages and as Markdown. */
export function docsRoutes(app: App, { library, pages, api, read }: DocsRouteContext): void {
  const headers = pageHeaders(library.names.baseUrl)
  const map = once((): DocsMap => {
    const groups = library.groups.map((each) => ({
      ...each,
      pages: each.pages.map((name) => library.page(name)),
    }))
    return { groups, api: api() }
  })
  const index = once(() =>
    searchIndex(
      library.groups.flatMap(({ pages: names }) => names.map((name) => library.page(name))),
      api(),
    ),
  )
  const asPage = async (
    request: FastifyRequest,
    reply: FastifyReply,
    render: (make: Pages['make'], context: PageContext) => string,
  ) => {
    const html = render(pages.make, await contextFor({ pages, read }, request, reply))
    return reply.headers(headers).type('text/html; charset=utf-8').send(html)
  }
  const options = { schema: { hide: true }, onSend: cached(REVALIDATE) }

  app.get('/docs', {
    ...options,
    handler: (request, reply) =>
      asPage(request, reply, (make, context) => make.docsIndexPage(context, map())),
  })
  app.get('/docs/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs', 308))
  // The page for operators had this name in the first release.
  for (const end of ['', '.md']) {
    app.get(`/docs/hosts${end}`, { schema: { hide: true } }, (_request, reply) =>
      reply.redirect(`/docs/operators${end}`, 308),
    )
  }
  app.get('/docs/api', {
    ...options,
    handler: (request, reply) =>
      asPage(request, reply, (make, context) => make.apiIndexPage(context, map(), api())),
  })
  app.get('/docs/search', {
    ...options,
    handler: (request, reply) => {
      const { q } = request.query as { q?: unknown }
      const query = typeof q === 'string' ? q.trim().slice(0, MAX_QUERY) : ''
      const results = search(index(), query)
      return asPage(request, reply, (make, context) =>
        make.docsSearchPage(context, map(), { query, results }),
      )
    },
  })
  app.get('/docs/api/:group', {
    ...options,
    handler: (request, reply) => {
      const { group: name } = request.params as { group: string }
      const group = api().find((each) => each.name === name)
      if (group === undefined) throw new CodedError('NOT_FOUND', NO_GROUP)
      return asPage(request, reply, (make, context) => make.apiGroupPage(context, map(), group))
    },
  })
  app.get('/docs/deploy/:proxy/:file', {
    ...options,
    handler: (request, reply) => {
      const { proxy, file } = request.params as { proxy: string; file: string }
      const text = deployFile(library, proxy, file)
      return reply
        .headers({ 'content-disposition': `attachment; filename="${file}"` })
        .type('text/plain; charset=utf-8')
        .send(text)
    },
  })
  app.get('/docs/:page', {
    ...options,
    handler: (request, reply) => {
      const { page: name } = request.params as { page: string }
      const page = library.page(name.replace(MARKDOWN, ''))
      if (!MARKDOWN.test(name)) {
        return asPage(request, reply, (make, context) => make.docsPage(context, map(), page))
      }
      allowAnyOrigin(request, reply, () => undefined)
      return reply.type('text/markdown; charset=utf-8').send(page.markdown)
    },
  })
}

const NO_GROUP = 'The API reference has no section with this name.'

/** What the routes of the documentation share. */
export interface DocsRouteContext {
  readonly library: Library
  readonly pages: Pages
  /** The API reference. Call it only after all routes are registered. */
  readonly api: () => readonly ApiGroup[]
  readonly read: VisitorDeps['read']
}

/** Computes a value on first use and caches it. */
export function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | null = null
  return () => {
    known ??= { value: compute() }
    return known.value
  }
}

const SHORTLY = 'public, max-age=300'

/** /skill.md, /llms.txt and the skills index, for agents that are driven by a model. */
export function skillRoutes(app: App, library: Library): void {
  const { naming } = library.names
  const skill = once(() => skillOf(library))
  const text = (
    url: string,
    type: 'text/markdown' | 'text/plain',
    about: { operationId: string; summary: string },
    content: () => string,
  ) =>
    publicRead(app, naming, {
      url,
      cacheControl: SHORTLY,
      schema: {
        ...about,
        tags: ['learn'],
        response: {
          200: { description: about.summary, content: { [type]: { schema: Type.String() } } },
        },
      },
      handler: async (_params: unknown, reply) => {
        reply.type(`${type}; charset=utf-8`).serializer(String)
        return content()
      },
    })

  const summary = 'Get the skill for agents, in Markdown'
  text('/skill.md', 'text/markdown', { operationId: 'skill', summary }, () => skill().text)
  text(
    `/.well-known/agent-skills/${skillName(library.names)}/SKILL.md`,
    'text/markdown',
    { operationId: 'wellKnownSkill', summary: 'Get the skill for agents, at the URL in the index' },
    () => skill().text,
  )
  const llms = {
    operationId: 'llms',
    summary: 'Get the list of the documentation pages, with links to Markdown',
  }
  text('/llms.txt', 'text/plain', llms, () => llmsText(library))
  publicRead(app, naming, {
    url: '/.well-known/agent-skills/index.json',
    cacheControl: SHORTLY,
    schema: {
      operationId: 'skillsIndex',
      summary: 'List the skills of this service (Agent Skills Discovery 0.2.0)',
      tags: ['learn'],
      response: { 200: indexSchema() },
    },
    handler: async () => skillsIndex(skill()),
  })
}

const indexSchema = () =>
  Type.Object(
    {
      $schema: Type.String(),
      skills: Type.Array(
        Type.Object({
          name: Type.String({ description: '1 to 64 characters out of a-z, 0-9 and -' }),
          type: Type.Literal('skill-md'),
          description: Type.String({ maxLength: 1024 }),
          url: Type.String({ description: 'relative to this address' }),
          digest: Type.String({
            description: 'sha256: and the SHA-256 of the skill, in hexadecimal',
          }),
        }),
      ),
    },
    { description: 'The index' },
  )
