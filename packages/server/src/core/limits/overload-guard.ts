import { CodedError } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Room } from './concurrency-limiter.ts'
import { isAlwaysAnswered, roomOf } from './limiter-of-route.ts'
import type { Overload } from './overload.ts'
import { measurePressure } from './pressure.ts'
import { hooksOf, routeFacts } from './route-facts.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where it has a place; null where it has none, or none any more. */
    room: Room | null
  }
}

const RETRY_AFTER_SECONDS = 2

type Done = (error?: Error) => void

/** Refuses, early and of every route that is registered after it, what there is no room for. */
export function guardAgainstOverload(app: FastifyInstance, overload: Overload): void {
  app.decorateRequest('room', null)
  const isUnderPressure = measurePressure(app)
  const requireCalm = (_request: FastifyRequest, _reply: FastifyReply, done: Done): void =>
    done(isUnderPressure() ? turnAway(overload) : undefined)
  app.addHook('onRoute', (route) => {
    const facts = routeFacts(route)
    if (!isAlwaysAnswered(facts)) route.onRequest = [...hooksOf(route.onRequest), requireCalm]
    const name = roomOf(facts)
    if (name !== null)
      admit(route, overload.rooms[name], name === 'streams' ? 'closed' : 'answered')
  })
}

function turnAway(overload: Overload): CodedError {
  overload.refusedUnderPressure += 1
  return new CodedError(
    'UNAVAILABLE',
    'The service cannot keep up. Nothing was done: try again in a few seconds.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
}

/**
 * Takes a place in a room once the request has wholly arrived, so that nobody keeps one by sending slowly; before that it
 * only looks whether there is one. The place is free again once there is an answer, so that nobody keeps one by reading
 * slowly, but not because the client has gone: its request is still being worked on.
 */
function admit(route: RouteOptions, room: Room, until: 'answered' | 'closed'): void {
  const look = (_request: FastifyRequest, _reply: FastifyReply, done: Done) =>
    done(refusalOf(() => room.requireSpace()))
  const enter = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const refusal = refusalOf(() => room.enter())
    if (refusal === undefined) {
      if (until === 'closed') reply.raw.once('close', () => room.leave())
      else request.room = room
    }
    done(refusal)
  }
  route.onRequest = [...hooksOf(route.onRequest), look]
  route.preHandler = [...hooksOf(route.preHandler), enter]
  route.onSend = [leave as never, ...hooksOf(route.onSend)]
}

function leave(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  request.room?.leave()
  request.room = null
  done(null, payload)
}

function refusalOf(attempt: () => void): Error | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return error as Error
  }
}
