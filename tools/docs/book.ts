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
  /** The last segment of its path. */
  readonly name: string
  readonly title: string
  /** One sentence: the audience or the content. */
  readonly summary: string
  readonly markdown: string
  /** HTML without the title. */
  readonly html: string
  readonly headings: readonly BookHeading[]
}

export interface BookHeading {
  readonly id: string
  readonly text: string
  readonly level: number
}
