/** An address of ours without its origin, so that a page works wherever it is reached. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
