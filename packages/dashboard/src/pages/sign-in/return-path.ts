const HOME = '/dashboard'

/**
 * Validates the page to return to after signing in. Only paths of the dashboard are allowed, to prevent open
 * redirects.
 * @param next from the URL, not trusted
 */
export function safeReturnPath(next: string | undefined): string {
  const url = next === undefined ? null : URL.parse(next, location.origin)
  if (url === null || url.origin !== location.origin) return HOME
  // `URL` has already resolved dot segments: `/dashboard/../x` is `/x` here.
  if (url.pathname !== HOME && !url.pathname.startsWith(`${HOME}/`)) return HOME
  return url.pathname + url.search + url.hash
}
