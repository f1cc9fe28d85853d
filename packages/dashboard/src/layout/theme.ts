import { useSyncExternalStore } from 'react'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'theme'
const listeners = new Set<() => void>()

/** The theme that the user chose in this browser. */
function chosenTheme(): Theme {
  const value = readStored()
  return THEMES.find((each) => each === value) ?? 'system'
}

function readStored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    // Storage is blocked, so the system's theme applies.
    return null
  }
}

/** theme.css applies the colours according to this attribute. */
function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

function choose(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // Without storage, the choice lasts until the page is closed.
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
