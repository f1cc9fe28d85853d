/**
 * Path and query of an absolute URL as it is written. `new URL()` would resolve dot segments, which the application may
 * read differently.
 */
export function targetOf(url: string): string {
  return url.slice(url.indexOf('/', url.indexOf('//') + 2))
}
