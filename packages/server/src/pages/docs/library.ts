import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CodedError } from '@countersign/protocol'
import type { Book, BookGroup, BookPage } from './book.ts'
import { type DeploymentNames, escapeHtml, fillNames } from './names.ts'

/** The documentation with the names of this deployment filled in. */
export class Library {
  readonly names: DeploymentNames
  readonly #book: Book | null
  /** Those that were asked for. */
  readonly #pages = new Map<string, BookPage>()

  constructor(names: DeploymentNames, book: Book | null) {
    this.names = names
    this.#book = book
  }

  /** All pages, in groups. @throws CodedError UNAVAILABLE if the documentation has not been built */
  get groups(): readonly BookGroup[] {
    return this.#built.groups
  }

  /** @throws CodedError NOT_FOUND, UNAVAILABLE if the documentation has not been built */
  page(name: string): BookPage {
    const known = this.#pages.get(name)
    if (known !== undefined) return known
    const template = this.#built.pages.find((each) => each.name === name)
    if (template === undefined)
      throw new CodedError('NOT_FOUND', `The documentation has no page of this name.`)
    const page = filled(template, this.names)
    this.#pages.set(name, page)
    return page
  }

  get #built(): Book {
    if (this.#book !== null) return this.#book
    throw new CodedError('UNAVAILABLE', 'The documentation is not built: npm run build')
  }
}

/** @param dir output folder of the build; may be missing, then only the documentation is unavailable */
export function openLibrary(dir: string, names: DeploymentNames): Library {
  const file = join(dir, 'book.json')
  return new Library(names, existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null)
}

function filled(page: BookPage, names: DeploymentNames): BookPage {
  const fill = (template: string) => fillNames(template, names)
  return {
    name: page.name,
    title: fill(page.title),
    summary: fill(page.summary),
    markdown: fill(page.markdown),
    html: fillNames(page.html, names, escapeHtml),
    headings: page.headings.map((each) => ({ ...each, text: fill(each.text) })),
  }
}
