import type { RouteOptions } from 'fastify'
import type { LimiterName } from './concurrency.ts'

/** HEAD is as much work as GET, which Fastify makes it of. */
export function routeInfoOf({ schema, url, method }: RouteOptions): RouteInfo {
  const operationId = (schema as { operationId?: string } | undefined)?.operationId ?? null
  const methods = [method].flat() as string[]
  const isRead = methods.some((each) => each === 'GET' || each === 'HEAD')
  return { operationId, url, method: isRead ? 'GET' : (methods[0] as string) }
}

/** The hooks that a route has already, however it has them. */
export function hooksOf<T>(hooks: T | T[] | undefined): T[] {
  return hooks === undefined ? [] : ([hooks].flat() as T[])
}

/** What of a route decides about its room. */
export interface RouteInfo {
  readonly operationId: string | null
  readonly url: string
  readonly method: string
}

/**
 * Answered however much there is to do: a question that costs next to nothing, and what an owner does to take an agent
 * back. Strangers must not be able to crowd that out.
 */
const ALWAYS = new Set([
  ...['healthz', 'readyz', 'lookup', 'identify'],
  ...['revokeAgent', 'suspendAgent', 'revokeAllAgents', 'signOut'],
])

const LIMITERS: Readonly<Record<string, LimiterName>> = {
  verify: 'verifications',
  claim: 'claims',
  challengeRuntime: 'claims',
  answerRuntime: 'claims',
  accountStream: 'streams',
  setAvatar: 'pictures',
}

export function isAlwaysAnswered({ operationId, method }: RouteInfo): boolean {
  return method === 'OPTIONS' || (operationId !== null && ALWAYS.has(operationId))
}

/** The room in which a request is worked on; null where there is no bound. */
export function limiterNameOf(route: RouteInfo): LimiterName | null {
  const { operationId, url, method } = route
  // A lookup that memory cannot answer waits for the database, like every other read.
  if (operationId === 'lookup' || operationId === 'identify') return 'reads'
  if (isAlwaysAnswered(route)) return null
  const own = LIMITERS[operationId ?? '']
  if (own !== undefined) return own
  if (method === 'GET') return 'reads'
  if (url === '/check') return 'verifications'
  return /^\/api\/sign-(in|up)(\/|$)/.test(url) ? 'sign-ins' : 'changes'
}
