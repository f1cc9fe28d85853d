import type { ApiPage } from '../api-model.ts'
import type { BookHeading, BookPage } from '../book.ts'

/** The navigation of the documentation. */
export interface DocsMap {
  readonly groups: readonly {
    readonly title: string
    readonly pages: readonly Pick<BookPage, 'name' | 'title' | 'summary'>[]
  }[]
  readonly api: readonly Pick<ApiPage, 'name' | 'title'>[]
}

/** The current page, for the navigation. */
export interface DocsPlace {
  readonly map: DocsMap
  /** Path of the page. */
  readonly path: string
  readonly headings: readonly BookHeading[]
}
