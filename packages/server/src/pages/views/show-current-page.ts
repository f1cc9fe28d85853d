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
