import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { CodedError } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { ConcurrencyLimiter, Overload } from './concurrency.ts'
import { hooksOf, isAlwaysAnswered, limiterNameOf, routeInfoOf } from './route-class.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Where it has a place; null where it has none, or none any more. */
    limiter: ConcurrencyLimiter | null
  }
}

const RETRY_AFTER_SECONDS = 2

type Done = (error?: Error) => void

/** Refuses, early and of every route that is registered after it, what there is no room for. */
export function guardAgainstOverload(app: FastifyInstance, overload: Overload): void {
  app.decorateRequest('limiter', null)
  const isUnderPressure = measurePressure(app)
  const requireCalm = (_request: FastifyRequest, _reply: FastifyReply, done: Done): void =>
    done(isUnderPressure() ? turnAway(overload) : undefined)
  app.addHook('onRoute', (route) => {
    const info = routeInfoOf(route)
    if (!isAlwaysAnswered(info)) route.onRequest = [...hooksOf(route.onRequest), requireCalm]
    const name = limiterNameOf(info)
    if (name !== null)
      admit(route, overload.limiters[name], name === 'streams' ? 'closed' : 'answered')
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
function admit(
  route: RouteOptions,
  limiter: ConcurrencyLimiter,
  until: 'answered' | 'closed',
): void {
  const look = (_request: FastifyRequest, _reply: FastifyReply, done: Done) =>
    done(refusalOf(() => limiter.requireSpace()))
  const enter = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    const refusal = refusalOf(() => limiter.enter())
    if (refusal === undefined) {
      if (until === 'closed') reply.raw.once('close', () => limiter.leave())
      else request.limiter = limiter
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
  request.limiter?.leave()
  request.limiter = null
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

/** A turn of the event loop that takes a second, on average over the last second: whatever is asked for takes seconds. */
const MOST_DELAY_MS = 1000
const SAMPLE_MS = 1000
const RESOLUTION_MS = 10
/** So many samples in a row: a disk that keeps the process waiting, or the first use of something large, is no overload. */
const SAMPLES = 3
/** Of the heap that Node allows itself (`--max-old-space-size`). Past it the process collects garbage, then dies. */
const MOST_HEAP = 0.9

/**
 * Measures how the process keeps up, from when the app is ready until it is closed. Opens no file for it, as
 * `process.memoryUsage` does: connections that take every descriptor are no reason to end.
 * @returns whether too much is asked of the process
 */
function measurePressure(app: FastifyInstance): () => boolean {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const mostHeap = getHeapStatistics().heap_size_limit * MOST_HEAP
  const isPressed = () => {
    // Without a sample the loop has not turned at all.
    const delayed = delay.count === 0 || delay.mean / 1e6 - RESOLUTION_MS > MOST_DELAY_MS
    delay.reset()
    return delayed || getHeapStatistics().used_heap_size > mostHeap
  }
  let samples = 0
  let timer: NodeJS.Timeout | undefined
  // To start takes turns of a second by itself.
  app.addHook('onReady', async () => {
    delay.enable()
    timer = setInterval(() => {
      samples = isPressed() ? samples + 1 : 0
    }, SAMPLE_MS).unref()
  })
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delay.disable()
  })
  return () => samples >= SAMPLES
}
