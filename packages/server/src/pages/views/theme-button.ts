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
