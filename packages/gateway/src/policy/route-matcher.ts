import { comparablePath } from '@countersign/protocol'
import type { Policy, Route, Rules } from './policy.ts'

/** A method with other characters, such as `post`, is POST to some servers and an unknown method to others. */
const AMBIGUOUS_METHOD = /[^A-Z-]/

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
   * @returns the index of the rules in `all`; null if servers may interpret the path or the method differently: then the strictest
   *   of all rules apply
   */
  find(method: string, target: string): number | null {
    if (this.#routes.length === 0) return 0
    const path = comparablePath(target.split('?', 1)[0] as string)
    if (path === null || AMBIGUOUS_METHOD.test(method)) return null
    const index = this.#routes.findIndex(
      ({ methods, matches }) =>
        (methods === null || includesMethod(methods, method)) && matches(path),
    )
    return index < 0 ? this.all.length - 1 : index
  }

  /** The rules at an index that `find` returned: one, or all of them if the request is ambiguous. */
  rulesAt(index: number | null): readonly Rules[] {
    return index === null ? this.all : [this.all[index] as Rules]
  }
}

/** The path of a request target, for logs: without the query and a fragment, which can contain secrets. */
export function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

/** HEAD counts as GET, because servers answer it with the handler for GET. */
function includesMethod(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** Ignores a slash at the end, because many servers do. @param pattern validated, so that it is comparable */
function pathMatcher(pattern: string): (path: string) => boolean {
  const comparable = comparablePath(pattern) ?? pattern
  if (!comparable.endsWith('*')) {
    const bare = comparable.replace(/(.)\/$/, '$1')
    return (path) => path === bare || path === `${bare}/`
  }
  const prefix = comparable.slice(0, -1)
  const withoutSlash = comparable.slice(0, -2)
  return (path) => path.startsWith(prefix) || path === withoutSlash
}
