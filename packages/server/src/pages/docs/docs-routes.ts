import { CodedError } from '@countersign/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { CACHE_PAGES, cached } from '../../http/caching.ts'
import { allowAnyOrigin } from '../../http/cors.ts'
import { pageHeaders } from '../../http/page-headers.ts'
import { publicRead } from '../../http/public-read.ts'
import { type Rendered, type RenderedCache, rendered, sendRendered } from '../../http/rendered.ts'
import type { App } from '../../http/server.ts'
import type { Pages } from '../load-pages.ts'
import { contextFor, type VisitorDeps } from '../visitor.ts'
import { escapeHtml } from './deployment-names.ts'
import type { Library } from './library.ts'
import { openApiText } from './openapi-text.ts'
import { MAX_QUERY, type SearchEntry, search } from './search.ts'
import { skillName, skillOf, skillsIndex } from './skill.ts'
import { tarGz } from './tar-gz.ts'

const MARKDOWN = /\.md$/
const ARCHIVE = /\.tgz$/

export interface DocsRouteContext {
  readonly library: Library
  readonly pages: Pages
  readonly read: VisitorDeps['read']
  /** For pages that show who is signed in. */
  readonly renderedPages: RenderedCache
}

/** The documentation as HTML pages and as Markdown, and /openapi.json. */
export function docsRoutes(app: App, context: DocsRouteContext): void {
  const { library, pages, read, renderedPages } = context
  const headers = pageHeaders(library.deployment.baseUrl)
  const files = new RenderedFiles(library)
  const index = once((): SearchEntry[] =>
    ['search.json', `${library.api}/search.json`].flatMap((file) => JSON.parse(library.text(file))),
  )
  /** @param more what follows the visitor in the slots of the page */
  const asPage = async (
    request: FastifyRequest,
    reply: FastifyReply,
    file: string,
    more: readonly string[] = [],
  ) => {
    const pieces = library.pieces(file)
    const { visitor = null } = await contextFor({ pages, read }, request, reply)
    const slots = [pages.make.accountLink(visitor), ...more]
    const write = () => pieces.map((piece, at) => piece + (slots[at] ?? '')).join('')
    reply.headers(headers).type('text/html; charset=utf-8')
    if (more.length > 0) return reply.send(write())
    const page =
      visitor === null ? files.get(file, write) : renderedPages.get([file, visitor], write)
    return sendRendered(request, reply, page)
  }
  const options = { schema: { hide: true }, onSend: cached(CACHE_PAGES) }

  app.get('/docs', {
    ...options,
    handler: (request, reply) => asPage(request, reply, 'index.html'),
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
    handler: (request, reply) => asPage(request, reply, `${library.api}/index.html`),
  })
  app.get('/docs/search', {
    ...options,
    handler: (request, reply) => {
      const { q } = request.query as { q?: unknown }
      const query = typeof q === 'string' ? q.trim().slice(0, MAX_QUERY) : ''
      const results = pages.make.docsSearchResults({ query, results: search(index(), query) })
      return asPage(request, reply, 'search.html', [escapeHtml(query), results])
    },
  })
  app.get('/docs/api/:resource', {
    ...options,
    handler: (request, reply) => {
      const { resource } = request.params as { resource: string }
      const file = `${library.api}/resources/${resource}.html`
      if (!library.has(file)) throw new CodedError('NOT_FOUND', NO_RESOURCE)
      return asPage(request, reply, file)
    },
  })
  app.get('/docs/deploy/:proxy/:name', {
    ...options,
    handler: (request, reply) => {
      const { proxy, name } = request.params as { proxy: string; name: string }
      const file = `deploy/${proxy}/${name}`
      const isProxy = library.has(`pages/gateways-${proxy}.html`)
      if (isProxy && !library.has(file)) throw new CodedError('NOT_FOUND', NO_FILE)
      const text = files.get(file)
      reply
        .headers({ 'content-disposition': `attachment; filename="${name}"` })
        .type('text/plain; charset=utf-8')
      return sendRendered(request, reply, text)
    },
  })
  const asPageOrMarkdown = (request: FastifyRequest, reply: FastifyReply, page: string) => {
    if (!MARKDOWN.test(page)) return asPage(request, reply, `pages/${page}.html`)
    const text = files.get(`pages/${page}`)
    allowAnyOrigin(request, reply, () => undefined)
    return sendRendered(request, reply.type('text/markdown; charset=utf-8'), text)
  }
  app.get('/docs/examples/:page', {
    ...options,
    handler: (request, reply) => {
      const { page } = request.params as { page: string }
      if (!ARCHIVE.test(page)) return asPageOrMarkdown(request, reply, `examples/${page}`)
      const name = page.replace(ARCHIVE, '')
      const archive = files.get(`examples/${page}`, () => exampleArchive(library, name))
      return sendRendered(request, reply.type('application/gzip'), archive)
    },
  })
  app.get('/docs/:page', {
    ...options,
    handler: (request, reply) =>
      asPageOrMarkdown(request, reply, (request.params as { page: string }).page),
  })

  const openApi = once(() => rendered(openApiText(library)))
  app.get('/openapi.json', {
    ...options,
    onRequest: allowAnyOrigin,
    handler: (request, reply) =>
      sendRendered(request, reply.type('application/json; charset=utf-8'), openApi()),
  })
}

/** The files of the documentation, rendered once. */
class RenderedFiles {
  readonly #library: Library
  readonly #known = new Map<string, Rendered>()

  constructor(library: Library) {
    this.#library = library
  }

  /** @throws as `Library.pieces` */
  get(file: string, write: () => string | Buffer = () => this.#library.text(file)): Rendered {
    let known = this.#known.get(file)
    if (known === undefined) {
      const body = write()
      // Bytes are an archive, which is compressed.
      known = rendered(body, typeof body === 'string')
    }
    this.#known.set(file, known)
    return known
  }
}

/** The files of an example, in a folder of its name. @throws as `Library.pieces` */
function exampleArchive(library: Library, name: string): Buffer {
  const files: { path: string; text: string }[] = JSON.parse(library.text(`examples/${name}.json`))
  return tarGz(
    files.map(({ path, text }) => ({ path: `${name}/${path}`, bytes: Buffer.from(text) })),
  )
}

const NO_RESOURCE = 'The API reference has no page of this name.'
const NO_FILE = 'The documentation has no file of this name.'

/** Computes a value on first use and caches it. */
function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | null = null
  return () => {
    known ??= { value: compute() }
    return known.value
  }
}

/** /skill.md, /llms.txt and the skills index, for agents that are driven by a model. */
export function skillRoutes(app: App, library: Library): void {
  const { naming } = library.deployment
  const files = new RenderedFiles(library)
  const skill = once(() => skillOf(library))
  const text = (
    url: string,
    type: 'text/markdown' | 'text/plain',
    about: { operationId: string; summary: string },
    content: () => Rendered,
  ) =>
    publicRead(app, naming, {
      url,
      cacheControl: CACHE_PAGES,
      schema: {
        ...about,
        tags: ['learn'],
        response: {
          200: { description: about.summary, content: { [type]: { schema: Type.String() } } },
        },
      },
      handler: async (_params: unknown, reply) => {
        sendRendered(reply.request, reply.type(`${type}; charset=utf-8`), content())
      },
    })

  const summary = 'Get the skill for agents, in Markdown'
  text('/skill.md', 'text/markdown', { operationId: 'skill', summary }, () =>
    files.get('', () => skill().text),
  )
  text(
    `/.well-known/agent-skills/${skillName(library.deployment)}/SKILL.md`,
    'text/markdown',
    { operationId: 'wellKnownSkill', summary: 'Get the skill for agents, at the URL in the index' },
    () => files.get('', () => skill().text),
  )
  const llms = {
    operationId: 'llms',
    summary: 'Get the list of the documentation pages, with links to Markdown',
  }
  text('/llms.txt', 'text/plain', llms, () => files.get('llms.txt'))
  publicRead(app, naming, {
    url: '/.well-known/agent-skills/index.json',
    cacheControl: CACHE_PAGES,
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
