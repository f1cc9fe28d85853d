import type { Site } from '../../base/site.ts'

/** The deployment's data that every page needs. */
export interface PageContext {
  readonly serviceName: string
  readonly site: Site
  readonly assets: PageAssets
  /** The package of the command, as npx takes it. */
  readonly cliPackage: string
  /** The username of the owner who is signed in; null: nobody is. Undefined: not known, as on error pages. */
  readonly visitor?: string | null | undefined
}

/** URLs of the built assets. */
export interface PageAssets {
  readonly style: string
  readonly script: string
  /** A module for /console alone. */
  readonly consoleScript: string
  /** A module for /check/request alone. */
  readonly checkRequestScript: string
  /** Fonts to preload: a browser that finds them in the style sheet alone loads them too late for the first page. */
  readonly fonts: readonly string[]
}

/** Path and query of one of our URLs, so that links work under any address of the service. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
