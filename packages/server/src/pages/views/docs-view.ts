import type { ApiGroup } from '../docs/api-model.ts'
import type { BookHeading, BookPage } from '../docs/book.ts'

/** What stands at the side of every page of the documentation. */
export interface DocsMap {
  readonly groups: readonly {
    readonly title: string
    readonly pages: readonly Pick<BookPage, 'name' | 'title' | 'summary'>[]
  }[]
  readonly api: readonly Pick<ApiGroup, 'name' | 'title'>[]
}

/** Where a reader is. */
export interface DocsPlace {
  readonly map: DocsMap
  /** The path of the page. */
  readonly path: string
  readonly headings: readonly BookHeading[]
}
