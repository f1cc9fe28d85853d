import { enableCopying } from '@countersign/ui'
import { showCurrentPage } from './show-current-page.ts'
import { enableThemeButton } from './theme-button.ts'
import { enableTrying } from './try-it.ts'

/**
 * The only script of the public pages, which work without it. It runs before the page is painted. The declarations replace
 * the DOM types, which the service is compiled without.
 */
const { document, navigator, localStorage, fetch } = globalThis as unknown as {
  document: Parameters<typeof enableCopying>[0] &
    Parameters<typeof enableThemeButton>[0] &
    Parameters<typeof enableTrying>[0] &
    Parameters<typeof showCurrentPage>[0]
  navigator: { clipboard: Parameters<typeof enableCopying>[1] }
  localStorage: Parameters<typeof enableThemeButton>[1]
  fetch: Parameters<typeof enableTrying>[1]
}

enableThemeButton(document, localStorage)
enableCopying(document, navigator.clipboard)
enableTrying(document, fetch)
showCurrentPage(document)
