import type { RouteOptions } from 'fastify'
import type { RouteFacts } from './limiter-of-route.ts'

/** HEAD is as much work as GET, which Fastify makes it of. */
export function routeFacts({ schema, url, method }: RouteOptions): RouteFacts {
  const operationId = (schema as { operationId?: string } | undefined)?.operationId ?? null
  const methods = [method].flat() as string[]
  const isRead = methods.some((each) => each === 'GET' || each === 'HEAD')
  return { operationId, url, method: isRead ? 'GET' : (methods[0] as string) }
}

/** The hooks that a route has already, however it has them. */
export function hooksOf<T>(hooks: T | T[] | undefined): T[] {
  return hooks === undefined ? [] : ([hooks].flat() as T[])
}
