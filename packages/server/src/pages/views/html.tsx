import type { ReactElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'

/** Renders a complete HTML document. */
export function htmlOf(page: ReactElement): string {
  return `<!doctype html>${renderToStaticMarkup(page)}`
}
