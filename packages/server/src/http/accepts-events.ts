import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

export const EVENT_STREAM = 'text/event-stream'

/** Whether a client wants a stream of server-sent events rather than the other type, which it gets by default. */
export function acceptsEvents({ headers: { accept } }: FastifyRequest, other: string): boolean {
  if (accept === undefined) return false
  const negotiator = new Negotiator({ headers: { accept } })
  return negotiator.mediaType([other, EVENT_STREAM]) === EVENT_STREAM
}
