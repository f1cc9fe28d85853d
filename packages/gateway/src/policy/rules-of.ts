import type { Policy, Route, Rules } from './policy.ts'

/**
 * Characters that need no encoding, or mean something in a path, written as `%XX`; `%C0` and `%C1`, which no UTF-8 begins
 * with. A server behind may decode them, and route the request elsewhere than its letters say.
 */
const DISGUISED = /%(?:[01][0-9a-f]|2[5def]|3[0-9b]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9aef]|c[01])/i
/** What servers resolve, merge, cut off or turn into a slash, each in its own way. */
const AMBIGUOUS = /^(?!\/)|\/\/|\/\.{1,2}(?:\/|$)|[\\;]/

/** Whether every server reads a path alike. */
export function isPlain(path: string): boolean {
  return !AMBIGUOUS.test(path) && !DISGUISED.test(path)
}

/** Finds the rules for requests of a policy. */
export class RulesOf {
  /** The rules of the routes in their order, then those of the policy. */
  readonly all: readonly Rules[]
  readonly #routes: readonly (Pick<Route, 'methods'> & { fits: (path: string) => boolean })[]

  constructor(policy: Policy) {
    this.all = [...policy.routes, policy]
    this.#routes = policy.routes.map(({ path, methods }) => ({ methods, fits: fitting(path) }))
  }

  /**
   * @param target path and query, as the request has them
   * @returns the place of the rules in `all`, or -1: it cannot be told from the path how a server behind reads it, so the
   *   strictest of all count
   */
  find(method: string, target: string): number {
    if (this.#routes.length === 0) return 0
    const path = pathOf(target)
    if (!isPlain(path)) return -1
    const lower = path.toLowerCase()
    const at = this.#routes.findIndex(
      ({ methods, fits }) => (methods === null || takes(methods, method)) && fits(lower),
    )
    return at < 0 ? this.all.length - 1 : at
  }
}

/** What of a request's target is path. */
export function pathOf(target: string): string {
  const end = target.search(/[?#]/)
  return end < 0 ? target : target.slice(0, end)
}

/** What answers GET answers HEAD. */
function takes(methods: readonly string[], method: string): boolean {
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** Many servers take a path in any letter case, and with a slash at its end. */
function fitting(pattern: string): (path: string) => boolean {
  const lower = pattern.toLowerCase()
  if (!lower.endsWith('*')) {
    const bare = lower.replace(/(.)\/$/, '$1')
    return (path) => path === bare || path === `${bare}/`
  }
  const prefix = lower.slice(0, -1)
  const itself = lower.slice(0, -2)
  return (path) => path.startsWith(prefix) || path === itself
}
