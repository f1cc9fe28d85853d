import type { Site } from '../../core/site.ts'

/** What every page needs to know of the deployment. */
export interface PageContext {
  readonly serviceName: string
  readonly site: Site
  readonly assets: PageAssets
}

/** Addresses of what the build has made for browsers. */
export interface PageAssets {
  readonly style: string
  readonly script: string
  /** Fonts: a browser that learns of them from the style alone uses them a page too late. */
  readonly fonts: readonly string[]
}

/** An address of ours without its origin, so that a page works wherever it is reached. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
