import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { FastifyInstance } from 'fastify'

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
export function measurePressure(app: FastifyInstance): () => boolean {
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
