import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CodedError } from '@countersign/protocol'
import type { CardRenderers } from '../agents/card.ts'
import { cliPackage } from '../base/packages.ts'
import type { Site } from '../base/site.ts'
import type { PageAssets, PageContext } from './views/page-context.ts'

/** The build of views/index.tsx: functions from data to a complete HTML document. */
type Built = typeof import('./views/index.tsx')

export interface PagesDeps {
  readonly serviceName: string
  readonly site: Site
  /** Output folder of the build: the page functions and, in `assets`, the files that browsers load. */
  readonly dir?: string
}

/** The public pages. */
export class Pages {
  readonly context: PageContext
  /** Output folder of the build. */
  readonly dir: string
  readonly #built: Built | null

  constructor(context: PageContext, dir: string, built: Built | null) {
    this.context = context
    this.dir = dir
    this.#built = built
  }

  get isBuilt(): boolean {
    return this.#built !== null
  }

  /** Cards as HTML snippets. */
  get cardRenderers(): CardRenderers {
    return {
      full: (card, channels) => this.make.cardSnippet(this.context, card, channels),
      compact: (card) => this.make.compactCardSnippet(this.context, card),
    }
  }

  /** @throws CodedError UNAVAILABLE if the pages have not been built */
  get make(): Built {
    if (this.#built !== null) return this.#built
    throw new CodedError('UNAVAILABLE', 'The public pages are not built: npm run build')
  }
}

/** Loads the built pages. Without them the service still answers programs. */
export async function loadPages({ serviceName, site, dir = PAGES_DIR }: PagesDeps): Promise<Pages> {
  const isBuilt = existsSync(join(dir, ENTRY))
  const assets = isBuilt ? readAssets(join(dir, 'manifest.json')) : NO_ASSETS
  const context = { serviceName, site, assets, cliPackage: cliPackage(site.baseUrl) }
  return new Pages(context, dir, isBuilt ? await importBuilt(dir) : null)
}

/** Imports the page functions from the output folder of the build. */
export function importBuilt(dir: string): Promise<Built> {
  return import(pathToFileURL(join(dir, ENTRY)).href)
}

/** Written by `npm run build`. */
const PAGES_DIR = join(import.meta.dirname, '../../dist/pages')
const ENTRY = 'pages.js'
const NO_ASSETS: PageAssets = {
  style: '',
  script: '',
  consoleScript: '',
  checkRequestScript: '',
  fonts: [],
}

/** @param file Vite's manifest: the output file of each entry and the assets that it refers to */
export function readAssets(file: string): PageAssets {
  const manifest: Record<string, { file: string; assets?: string[] }> = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  const style = manifest['src/pages/views/pages.css']
  const script = manifest['src/pages/views/browser.ts']
  const consoleScript = manifest['src/pages/views/console-browser.ts']
  const checkRequestScript = manifest['src/pages/views/check-request-browser.ts']
  if (!style || !script || !consoleScript || !checkRequestScript) {
    throw new Error('The manifest of the public pages lacks their entries: npm run build')
  }
  return {
    style: `/${style.file}`,
    script: `/${script.file}`,
    consoleScript: `/${consoleScript.file}`,
    checkRequestScript: `/${checkRequestScript.file}`,
    fonts: (style.assets ?? []).filter((each) => each.endsWith('.woff2')).map((each) => `/${each}`),
  }
}
