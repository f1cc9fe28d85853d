import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { CodedError, FEED_TYPE } from '@countersign/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { isTurnTooLong } from '../../base/loop-turn.ts'
import { acceptsEvents } from '../accepts-events.ts'
import type { ConcurrencyLimiter, LoadShedder } from './concurrency-limiter.ts'
import { hooksOf, isExempt, limiterNameOf, routeInfoOf } from './route-info.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The limiter of which the request holds a slot; null if it holds none. */
    limiter: ConcurrencyLimiter | null
  }
}

export const PRESSURE_RETRY_SECONDS = 2
export const PRESSURE_MESSAGE =
  'The service cannot keep up. Nothing was done: try again in a few seconds.'

type Done = (error?: Error) => void

/**
 * Sheds load: every route registered after this call rejects requests with 503 while its concurrency limiter is full or
 * the process is under pressure.
 */
export function shedLoad(app: FastifyInstance, loadShedder: LoadShedder): void {
  app.decorateRequest('limiter', null)
  const isUnderPressure = measurePressure(app)
  const rejectUnderPressure = (request: FastifyRequest, _reply: FastifyReply, done: Done): void => {
    const isRejected = isTurnTooLong() || isUnderPressure()
    if (isRejected) loadShedder.rest(request.raw.socket)
    done(isRejected ? pressureError(loadShedder) : undefined)
  }
  app.addHook('onRoute', (route) => {
    const info = routeInfoOf(route)
    if (!isExempt(info)) route.onRequest = [...hooksOf(route.onRequest), rejectUnderPressure]
    const name = limiterNameOf(info)
    if (name !== null)
      limitConcurrency(
        route,
        loadShedder,
        loadShedder.limiters[name],
        name === 'streams' || name === 'feed-reads' ? 'closed' : 'answered',
      )
  })
}

function pressureError(loadShedder: LoadShedder): CodedError {
  loadShedder.rejectedUnderPressure += 1
  return new CodedError('UNAVAILABLE', PRESSURE_MESSAGE, {
    retryAfterSeconds: PRESSURE_RETRY_SECONDS,
  })
}

/**
 * Takes a slot once the whole request has arrived, and releases it before the response is sent, so that a slow client
 * holds no slot in either direction. A client that disconnects keeps its slot: the request is still being processed.
 * @param until `closed` for streams, which keep their slot for as long as they are open
 */
function limitConcurrency(
  route: RouteOptions,
  loadShedder: LoadShedder,
  limiter: ConcurrencyLimiter,
  until: 'answered' | 'closed',
): void {
  const check = (request: FastifyRequest, _reply: FastifyReply, done: Done) => {
    if (hasOwnPlaces(limiter, loadShedder, request)) return done()
    const error = errorOf(() => limiter.assertCapacity())
    if (error !== undefined) loadShedder.rest(request.raw.socket)
    done(error)
  }
  const acquire = (request: FastifyRequest, reply: FastifyReply, done: Done) => {
    if (hasOwnPlaces(limiter, loadShedder, request)) return done()
    const error = errorOf(() => limiter.acquire())
    if (error !== undefined) loadShedder.rest(request.raw.socket)
    else {
      if (until === 'closed') reply.raw.once('close', () => limiter.release())
      else request.limiter = limiter
    }
    done(error)
  }
  route.onRequest = [...hooksOf(route.onRequest), check]
  route.preHandler = [...hooksOf(route.preHandler), acquire]
  route.onSend = [release as never, ...hooksOf(route.onSend)]
}

/** Streams of the feed have places of their own (`status-lists/feed-streams.ts`), so that they keep nobody from reading it. */
function hasOwnPlaces(
  limiter: ConcurrencyLimiter,
  { limiters }: LoadShedder,
  request: FastifyRequest,
): boolean {
  return limiter === limiters['feed-reads'] && acceptsEvents(request, FEED_TYPE)
}

function release(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  request.limiter?.release()
  request.limiter = null
  done(null, payload)
}

function errorOf(attempt: () => void): Error | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** Mean event loop delay over one sample. At one second, every request takes seconds. */
const MAX_DELAY_MS = 1000
const SAMPLE_MS = 1000
const RESOLUTION_MS = 10
/** A slow disk, or loading a large module, delays a sample or two without any overload. */
const SAMPLES_UNTIL_PRESSURE = 3
/** Share of V8's heap limit (`--max-old-space-size`). Past it, garbage collection takes over and then the process dies. */
const MAX_HEAP_SHARE = 0.9

/**
 * Measures event loop delay and heap use from when the app is ready until it closes. Uses no call that opens a file, such
 * as `process.memoryUsage`, which fails when connections have taken every file descriptor.
 * @returns whether the process is under pressure now
 */
function measurePressure(app: FastifyInstance): () => boolean {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const maxHeapBytes = getHeapStatistics().heap_size_limit * MAX_HEAP_SHARE
  const isSampleHigh = () => {
    // No measurement at all means that the event loop has not turned once.
    const delayed = delay.count === 0 || delay.mean / 1e6 - RESOLUTION_MS > MAX_DELAY_MS
    delay.reset()
    return delayed || getHeapStatistics().used_heap_size > maxHeapBytes
  }
  let highSamples = 0
  let timer: NodeJS.Timeout | undefined
  // Not before: startup itself blocks the event loop for a second.
  app.addHook('onReady', async () => {
    delay.enable()
    timer = setInterval(() => {
      highSamples = isSampleHigh() ? highSamples + 1 : 0
    }, SAMPLE_MS).unref()
  })
  app.addHook('onClose', async () => {
    clearInterval(timer)
    delay.disable()
  })
  return () => highSamples >= SAMPLES_UNTIL_PRESSURE
}
