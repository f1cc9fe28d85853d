const HOME = '/dashboard'

/**
 * Where to go after signing in. Only pages of this dashboard: an address from elsewhere would make the sign-in page
 * a springboard to whoever wrote it.
 * @param next out of the address, as whoever linked here wrote it
 */
export function safeNext(next: string | undefined): string {
  const url = next === undefined ? null : URL.parse(next, location.origin)
  if (url === null || url.origin !== location.origin) return HOME
  // With its dots resolved: `/dashboard/../x` is `/x` by now.
  if (url.pathname !== HOME && !url.pathname.startsWith(`${HOME}/`)) return HOME
  return url.pathname + url.search + url.hash
}
