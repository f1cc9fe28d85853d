import { isPersonal } from './personal-paths.ts'

const IN_PATH = /^\/dashboard\/o\/([a-z0-9-]+)(?=\/|$)/

/**
 * The username of the organisation that this page acts for, from its URL; null: the person's own account. It stays the same as long
 * as the page is loaded, so that nothing in memory belongs to another owner.
 */
export const organisation: string | null = IN_PATH.exec(location.pathname)?.[1] ?? null

/** The title of the pages about the owner itself. */
export const accountTitle = organisation === null ? 'Account' : 'Settings'

/** Who did what the owner does, at the end of a sentence. The events of an organisation do not name the member. */
export const byOwner: string = organisation === null ? 'you' : 'a member'

/** The path of the dashboard's pages for an owner. @param username of an organisation; null: the person's own account */
export function dashboardOf(username: string | null): string {
  return username === null ? '/dashboard' : `/dashboard/o/${username}`
}

/** Adds the parameter that names the organisation to a path of the API, unless the path concerns only the person. */
export function forOwner(path: string): string {
  if (organisation === null || isPersonal(path)) return path
  return `${path}${path.includes('?') ? '&' : '?'}organisation=${organisation}`
}

/** Loads another page of the dashboard. Never resolves, so that nothing changes on this one until then. */
export function loadPage(path: string): Promise<never> {
  location.assign(path)
  return new Promise(() => {})
}

/** The path of the sign-in page. @param next the page to continue with */
export function signInPath(next: string): string {
  return `/dashboard/sign-in?${new URLSearchParams({ next })}`
}
