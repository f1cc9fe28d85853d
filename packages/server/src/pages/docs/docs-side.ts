import type { Pages } from '../load.ts'
import type { ApiGroup } from './api-model.ts'
import type { Library } from './library.ts'

/** What the routes of the documentation share. */
export interface DocsSide {
  readonly library: Library
  readonly pages: Pages
  /** The HTTP reference, out of the service's own OpenAPI document: complete once the service is. */
  readonly api: () => readonly ApiGroup[]
}

/** What is computed once, when it is first asked for. */
export function once<T>(compute: () => T): () => T {
  let known: { readonly value: T } | null = null
  return () => {
    known ??= { value: compute() }
    return known.value
  }
}
