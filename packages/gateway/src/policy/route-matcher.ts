import type { Policy, Route, Rules } from './policy.ts'

/**
 * Percent-encoded characters that need no encoding or have a meaning in paths, and `%C0` and `%C1`, which are invalid in
 * UTF-8. The server behind the gateway may decode them and route the request to another path than the encoded one.
 */
const NEEDLESSLY_ENCODED =
  /%(?:[01][0-9a-f]|2[5def]|3[0-9b]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9aef]|c[01])/i
/** Parts of paths that servers resolve, merge, cut off or turn into a slash in different ways. */
const AMBIGUOUS = /^(?!\/)|\/\/|\/\.{1,2}(?:\/|$)|[\\;]/

/** Whether all servers interpret a path in the same way. */
export function isUnambiguousPath(path: string): boolean {
  return !AMBIGUOUS.test(path) && !NEEDLESSLY_ENCODED.test(path)
}

/** Finds the rules of a policy that apply to a request. */
export class RouteMatcher {
  /** The rules of the routes in order, followed by the policy's own. */
  readonly all: readonly Rules[]
  readonly #routes: readonly (Pick<Route, 'methods'> & { matches: (path: string) => boolean })[]

  constructor(policy: Policy) {
    this.all = [...policy.routes, policy]
    this.#routes = policy.routes.map(({ path, methods }) => ({
      methods,
      matches: pathMatcher(path),
    }))
  }

  /**
   * @param target path and query, as sent
   * @returns the index of the rules in `all`, or -1 if servers may interpret the path differently: then the strictest of
   *   all rules apply
   */
  find(method: string, target: string): number {
    if (this.#routes.length === 0) return 0
    const path = pathOf(target)
    if (!isUnambiguousPath(path)) return -1
    const lower = path.toLowerCase()
    const index = this.#routes.findIndex(
      ({ methods, matches }) =>
        (methods === null || includesMethod(methods, method)) && matches(lower),
    )
    return index < 0 ? this.all.length - 1 : index
  }
}

/** The path of a request target. */
export function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

/** HEAD counts as GET, because servers answer it with the handler for GET. */
function includesMethod(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** Ignores letter case and a slash at the end, because many servers do. */
function pathMatcher(pattern: string): (path: string) => boolean {
  const lower = pattern.toLowerCase()
  if (!lower.endsWith('*')) {
    const bare = lower.replace(/(.)\/$/, '$1')
    return (path) => path === bare || path === `${bare}/`
  }
  const prefix = lower.slice(0, -1)
  const withoutSlash = lower.slice(0, -2)
  return (path) => path.startsWith(prefix) || path === withoutSlash
}
