import { useSyncExternalStore } from 'react'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'theme'
const listeners = new Set<() => void>()

/** What the reader has chosen in this browser. */
function chosenTheme(): Theme {
  const kept = stored()
  return THEMES.find((each) => each === kept) ?? 'system'
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    // The browser keeps nothing for this site: the system's scheme it is.
    return null
  }
}

/** Puts the choice on the document: theme.css does the rest. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

function choose(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // It holds for as long as the page is open.
  }
  applyTheme(theme)
  for (const each of listeners) each()
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, chosenTheme), choose]
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
