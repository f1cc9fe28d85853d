// Loaded before anything is painted: the theme that was chosen in this browser (theme.ts).
try {
  const theme = localStorage.getItem('theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage is blocked, so the system's theme applies.
}
