/** Hands something made in this page to the browser as a download. */
export function saveFile(name: string, content: string, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // Firefox reads it after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
