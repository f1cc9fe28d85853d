import type { ExampleFile } from './example-page.ts'

/** The documentation as built, with placeholders for the names of the deployment. */
export interface Book {
  readonly groups: readonly BookGroup[]
  readonly pages: readonly BookPage[]
}

interface BookGroup {
  readonly title: string
  /** Names of pages in reading order. */
  readonly pages: readonly string[]
}

/** A page of the documentation. */
export interface BookPage {
  /** Its path below `/docs/`. */
  readonly name: string
  readonly title: string
  /** One sentence: the audience or the content. */
  readonly summary: string
  readonly markdown: string
  /** HTML without the title. */
  readonly html: string
  readonly headings: readonly BookHeading[]
  /** What the page of an example offers as a download; empty for others. */
  readonly files: readonly ExampleFile[]
}

export interface BookHeading {
  readonly id: string
  readonly text: string
  readonly level: number
}
