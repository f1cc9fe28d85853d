/** The documentation as `npm run build` leaves it: everything but the names of the deployment. */
export interface Book {
  readonly groups: readonly BookGroup[]
  readonly pages: readonly BookPage[]
}

export interface BookGroup {
  readonly title: string
  /** Names of pages, in the order in which they are read. */
  readonly pages: readonly string[]
}

/** A page of the documentation. */
export interface BookPage {
  /** The last part of its address. */
  readonly name: string
  readonly title: string
  /** One sentence: whom it is for, or what is in it. */
  readonly summary: string
  readonly markdown: string
  /** Without its title. */
  readonly html: string
  readonly headings: readonly BookHeading[]
}

export interface BookHeading {
  readonly id: string
  readonly text: string
  readonly level: number
}
