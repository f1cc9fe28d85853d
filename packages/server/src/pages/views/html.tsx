import type { ReactElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'

/** A complete document. */
export function htmlOf(page: ReactElement): string {
  return `<!doctype html>${renderToStaticMarkup(page)}`
}
