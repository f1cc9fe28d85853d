import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runnerImport } from 'vite'
import { siteOf } from '../../packages/server/src/base/site.ts'
import {
  apiFolder,
  type Features,
  SLOT,
} from '../../packages/server/src/pages/docs/deployment-names.ts'
import { readAssets } from '../../packages/server/src/pages/load-pages.ts'
import type { PageContext } from '../../packages/server/src/pages/views/page-context.ts'
import { collectOpenApi } from '../openapi/collect-openapi.ts'
import type { ApiDocument } from '../openapi/openapi-types.ts'
import { publishOpenApi } from '../openapi/published-openapi.ts'
import { STAND_IN, STAND_IN_NAMES, templateOf } from '../openapi/stand-ins.ts'
import { type ApiPage, type ApiReference, apiModel } from './api-model.ts'
import type { Book, BookPage } from './book.ts'
import { compileBook } from './compile-book.ts'
import { operationSections, sectionsOf } from './search-sections.ts'
import { llmsText, skillTemplate } from './skill-text.ts'
import type { DocsMap } from './views/docs-view.ts'

type Views = typeof import('./views/index.tsx')

/** Texts by the name of their file. */
type Files = Readonly<Record<string, string>>

/** The HTTP reference for a set of features. */
interface Reference {
  readonly folder: string
  readonly document: ApiDocument
  readonly model: ApiReference
}

const FEATURES: readonly Features[] = [false, true].flatMap((witness) =>
  [false, true].map((cardFormats) => ({ witness, cardFormats })),
)

/**
 * Renders the documentation that the service serves at /docs: complete pages and texts, with placeholders for the names of a
 * deployment and slots for what differs between requests.
 * @param dist output folder, which is emptied
 */
export async function buildDocs(root: string, dist: string): Promise<void> {
  const book = compileBook(root)
  const views = await loadViews()
  const context = contextOf(root)
  const references: Reference[] = []
  for (const features of FEATURES) references.push(await readReference(features))
  // Every deployment has every page, if not every operation.
  const map = mapOf(book, pagesIn(references[0]?.model))
  const templates: Files = {
    ...pagesOf(views, context, book, map),
    ...textsOf(book),
    ...Object.assign({}, ...references.map((each) => referenceOf(views, context, map, each))),
  }
  const files: Files = {
    ...Object.fromEntries(
      Object.entries(templates).map(([name, text]) => [name, templateOf(text)]),
    ),
    ...downloadsOf(book),
  }
  rmSync(dist, { recursive: true, force: true })
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dist, name)), { recursive: true })
    writeFileSync(join(dist, name), text)
  }
  writeFileSync(join(dist, 'files.json'), JSON.stringify(Object.keys(files)))
}

/** The page functions. Node cannot load JSX. */
async function loadViews(): Promise<Views> {
  const entry = join(import.meta.dirname, 'views/index.tsx')
  const { module } = await runnerImport<Views>(entry, { configFile: false, logLevel: 'error' })
  return module
}

function contextOf(root: string): PageContext {
  return {
    serviceName: STAND_IN.serviceName,
    site: siteOf(STAND_IN_NAMES.naming, new URL(STAND_IN.baseUrl)),
    assets: readAssets(join(root, 'packages/server/dist/pages/manifest.json')),
    cliPackage: '',
    visitor: null,
  }
}

async function readReference(features: Features): Promise<Reference> {
  const document = await collectOpenApi(features)
  return { folder: apiFolder(features), document, model: apiModel(document) }
}

function pagesIn(model: ApiReference | undefined): ApiPage[] {
  return (model?.sections ?? []).flatMap(({ pages }) => pages)
}

function mapOf({ groups, pages }: Book, api: DocsMap['api']): DocsMap {
  return {
    groups: groups.map(({ title, pages: names }) => ({
      title,
      pages: pages.filter(({ name }) => names.includes(name)),
    })),
    api,
  }
}

/** The pages that are the same in all deployments but for their names. */
function pagesOf(views: Views, context: PageContext, { pages }: Book, map: DocsMap): Files {
  return {
    'index.html': withVisitorSlot(views, views.docsIndexPage(context, map)),
    'search.html': withVisitorSlot(views, views.docsSearchPage(context, map)),
    ...Object.fromEntries(
      pages.map((page) => [
        `pages/${page.name}.html`,
        withVisitorSlot(views, views.docsPage(context, map, page)),
      ]),
    ),
  }
}

function textsOf(book: Book): Files {
  const { pages } = book
  const agents = pages.find(({ name }) => name === 'agents') as BookPage
  return {
    'llms.txt': llmsText(book),
    'skill.json': JSON.stringify(skillTemplate(agents)),
    'search.json': JSON.stringify(pages.flatMap(sectionsOf)),
    ...Object.fromEntries(pages.map(({ name, markdown }) => [`pages/${name}.md`, markdown])),
    ...Object.fromEntries(pages.flatMap(deployFilesIn)),
  }
}

/** The files of each example, of which the service makes an archive. Their hashes may contain what looks like a stand-in. */
function downloadsOf({ pages }: Book): Files {
  const examples = pages.filter(({ files }) => files.length > 0)
  return Object.fromEntries(
    examples.map(({ name, files }) => [`${name}.json`, JSON.stringify(files)]),
  )
}

/** The configuration files of a proxy, from the page of its gateway. */
function deployFilesIn({ markdown }: BookPage): [name: string, text: string][] {
  const blocks = markdown.matchAll(/`(deploy\/[\w-]+\/[\w.-]+)`\n\n```\w*\n(.*?\n)```(?:\n|$)/gs)
  return [...blocks].map(([, name = '', text = '']) => [name, text])
}

/** The HTTP reference and the OpenAPI document. */
function referenceOf(
  views: Views,
  context: PageContext,
  map: DocsMap,
  { folder, document, model }: Reference,
): Files {
  return {
    [`${folder}/index.html`]: withVisitorSlot(views, views.apiIndexPage(context, map, model)),
    [`${folder}/openapi.json`]: withWholeElements(JSON.stringify(publishOpenApi(document))),
    [`${folder}/search.json`]: JSON.stringify(operationSections(model)),
    ...Object.fromEntries(
      pagesIn(model).map((page) => [
        `${folder}/resources/${page.name}.html`,
        withVisitorSlot(views, withWholeElements(views.apiResourcePage(context, map, page))),
      ]),
    ),
  }
}

/** Replaces the link to the dashboard, which says who is signed in, by a slot. */
function withVisitorSlot({ accountLink }: Views, html: string): string {
  const [before = '', after, ...more] = html.split(accountLink(null))
  if (after === undefined || more.length > 0) throw new Error('a page has no place for the visitor')
  return before + SLOT + after
}

/** Where a text in a list is conditional, its whole element is: a code, or the response of a status. */
function withWholeElements(text: string): string {
  return text.replaceAll(
    /("429":\{"\$ref":"[\w#/]+|"|<span>, <code>)(\ue011[^\ue012]*\ue012)(\w+)\ue013("\},|",|<\/code><\/span>)/g,
    (_element, before: string, condition: string, code: string, after: string) =>
      `${condition}${before}${code}${after}\ue013`,
  )
}
