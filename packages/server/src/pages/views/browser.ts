import { enableCopying } from '@countersign/ui'
import { enableTrying } from './try-it.ts'

interface ThemePage {
  readonly documentElement: { readonly dataset: Record<string, string | undefined> }
  addEventListener(type: 'click', listener: (event: { readonly target: unknown }) => void): void
}

interface Storage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

const THEMES = ['system', 'light', 'dark'] as const
/** The dashboard stores its choice under the same key. */
const KEY = 'theme'

/** Applies the theme that the reader has chosen on this site, and changes it on a click. */
export function enableThemeButton(page: ThemePage, storage: Storage): void {
  const { dataset } = page.documentElement
  const apply = (theme: string | null) => {
    if (theme === 'light' || theme === 'dark') dataset.theme = theme
    else delete dataset.theme
  }
  try {
    apply(storage.getItem(KEY))
  } catch {
    // Storage is blocked, so the system's theme applies.
  }
  page.addEventListener('click', ({ target }) => {
    const button = (target as { closest?(selector: string): unknown } | null)?.closest?.(
      '[data-theme-button]',
    )
    if (!button) return
    const current = THEMES.findIndex((each) => each === (dataset.theme ?? 'system'))
    const next = THEMES[(current + 1) % THEMES.length] ?? 'system'
    apply(next)
    try {
      storage.setItem(KEY, next)
    } catch {
      // Without storage, the choice lasts until the page is left.
    }
  })
}

/** The part of the DOM that this uses. The service is compiled without the DOM types. */
interface Page {
  addEventListener(type: 'DOMContentLoaded', listener: () => void): void
  querySelector(selectors: string): Entry | null
}
interface Entry {
  readonly offsetTop: number
  closest(selectors: string): { scrollTop: number; readonly clientHeight: number } | null
}

/** Scrolls the navigation of the documentation so that its entry for the current page is in sight. */
export function showCurrentPage(document: Page): void {
  document.addEventListener('DOMContentLoaded', () => {
    const entry = document.querySelector('nav [aria-current=page]')
    const navigation = entry?.closest('nav')
    if (entry && navigation) {
      navigation.scrollTop = entry.offsetTop - navigation.clientHeight / 2
    }
  })
}

/** The part of the DOM that `openLinkedFold` uses. */
interface FoldingPage {
  addEventListener(type: 'DOMContentLoaded', listener: () => void): void
  getElementById(id: string): Target | null
}
interface Target {
  closest(selectors: string): { open: boolean } | null
  scrollIntoView(): void
}
interface Window {
  readonly location: { readonly hash: string }
  addEventListener(type: 'hashchange', listener: () => void): void
}

/** Opens the fold that a link leads into, in browsers that do not do so themselves. */
export function openLinkedFold(document: FoldingPage, window: Window): void {
  const open = () => {
    const target = document.getElementById(window.location.hash.slice(1))
    const fold = target?.closest('details')
    if (!target || !fold || fold.open) return
    fold.open = true
    target.scrollIntoView()
  }
  document.addEventListener('DOMContentLoaded', open)
  window.addEventListener('hashchange', open)
}

/**
 * The only script of the public pages, which work without it. It runs before the page is painted. The declarations replace
 * the DOM types, which the service is compiled without.
 */
const { document, navigator, localStorage, fetch } = globalThis as unknown as {
  document: Parameters<typeof enableCopying>[0] &
    Parameters<typeof enableThemeButton>[0] &
    Parameters<typeof enableTrying>[0] &
    Parameters<typeof showCurrentPage>[0] &
    Parameters<typeof openLinkedFold>[0]
  navigator: { clipboard: Parameters<typeof enableCopying>[1] }
  localStorage: Parameters<typeof enableThemeButton>[1]
  fetch: Parameters<typeof enableTrying>[1]
}

enableThemeButton(document, localStorage)
enableCopying(document, navigator.clipboard)
enableTrying(document, fetch)
showCurrentPage(document)
openLinkedFold(document, globalThis as unknown as Parameters<typeof openLinkedFold>[1])
