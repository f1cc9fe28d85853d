import type { RouteOptions } from 'fastify'
import type { LimiterName } from './concurrency-limiter.ts'

/** What decides which limits apply to a route. */
export interface RouteInfo {
  readonly operationId: string | null
  /** The route's pattern, such as `/api/agents/:agent`. */
  readonly url: string
  /** `GET` for HEAD as well. */
  readonly method: string
}

/** HEAD counts as GET: Fastify answers it by running the GET handler. */
export function routeInfoOf({ schema, url, method }: RouteOptions): RouteInfo {
  const operationId = (schema as { operationId?: string } | undefined)?.operationId ?? null
  const methods = [method].flat() as string[]
  const isRead = methods.some((each) => each === 'GET' || each === 'HEAD')
  return { operationId, url, method: isRead ? 'GET' : (methods[0] as string) }
}

/** A route's hooks as a list: Fastify allows one function or an array. */
export function hooksOf<T>(hooks: T | T[] | undefined): T[] {
  return hooks === undefined ? [] : ([hooks].flat() as T[])
}

/**
 * Operations that are served even under overload: they are cheap, or an owner needs them to take an agent or its delegates
 * out of service while somebody floods the service.
 */
const EXEMPT_OPERATIONS = new Set([
  ...['healthz', 'readyz', 'lookup', 'identify', 'statusFeedLatest'],
  ...['revokeAgent', 'suspendAgent', 'changeStatuses', 'revokeAllAgents'],
  ...['contestKeys', 'reportOwnKey', 'signOut'],
  ...['pauseEnrolmentRule', 'endEnrolmentRule'],
  ...['endOwnDelegations', 'endOwnDelegationGroup', 'allowDelegation'],
])

const LIMITER_BY_OPERATION: Readonly<Record<string, LimiterName>> = {
  verify: 'verifications',
  verifyRequest: 'verifications',
  createReport: 'verifications',
  claim: 'claims',
  enrol: 'claims',
  endEnrolment: 'claims',
  challengeRuntime: 'claims',
  answerRuntime: 'claims',
  renounce: 'claims',
  endDelegations: 'claims',
  createDelegationGroup: 'claims',
  endDelegationGroup: 'claims',
  proveDirectory: 'claims',
  rotateKey: 'claims',
  recoverKey: 'claims',
  vetoRecovery: 'claims',
  reportKey: 'claims',
  accountStream: 'streams',
  statusFeed: 'feed-reads',
  setAvatar: 'pictures',
}

/** Whether a route is exempt from load shedding and, lookups aside, from rate limits. */
export function isExempt({ operationId, method }: RouteInfo): boolean {
  return method === 'OPTIONS' || (operationId !== null && EXEMPT_OPERATIONS.has(operationId))
}

/** Whether a form of a public page verifies what was pasted into it. */
export function isCheckPage({ url }: RouteInfo): boolean {
  return url.startsWith('/check') || url === '/console'
}

/** The concurrency limiter of a route; null if it has none. */
export function limiterNameOf(route: RouteInfo): LimiterName | null {
  const { operationId, url, method } = route
  // A lookup that is not in memory queries the database, like every other read.
  if (operationId === 'lookup' || operationId === 'identify') return 'reads'
  if (isExempt(route)) return null
  const own = LIMITER_BY_OPERATION[operationId ?? '']
  if (own !== undefined) return own
  if (method === 'GET') return 'reads'
  if (isCheckPage(route)) return 'verifications'
  return /^(\/api)?\/sign-(in|up)(\/|$)/.test(url) ? 'sign-ins' : 'changes'
}
