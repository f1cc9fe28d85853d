import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ConcurrencyLimiter } from '../http/limits/concurrency-limiter.ts'
import type { Pages } from './load-pages.ts'
import type { PreviewJob, PreviewResult } from './preview-worker.ts'

/** Number of cached images, about 60 KB each. */
const MAX_CACHED = 200

/** Of the worker's heap, in MiB: a picture takes some 60. One that takes more fails, and the next one gets a new worker. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32 } as const

interface Waiting {
  resolve(png: Buffer): void
  reject(error: Error): void
}

/** Renders preview images in a worker thread, started for the first image, and caches the most recently used ones. */
export class PreviewImages {
  readonly #pages: Pages
  readonly #limiter: ConcurrencyLimiter
  readonly #cache = new Map<string, Promise<Buffer>>()
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #count = 0

  /** @param limiter bounds the images that are being rendered or wait for it */
  constructor(pages: Pages, limiter: ConcurrencyLimiter) {
    this.#pages = pages
    this.#limiter = limiter
  }

  /**
   * Renders a PNG, or returns it from the cache.
   * @throws CodedError UNAVAILABLE if too many are waiting
   */
  async of(data: PreviewJob['data']): Promise<Buffer> {
    const key = JSON.stringify(data)
    const known = this.#cache.get(key)
    if (known === undefined) {
      this.#limiter.acquire()
      return this.#store(key, this.#draw(data))
    }
    // Reinsert at the end: the map is ordered from the least recently used.
    this.#cache.delete(key)
    this.#cache.set(key, known)
    return known
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #store(key: string, drawn: Promise<Buffer>): Promise<Buffer> {
    this.#cache.set(key, drawn)
    drawn.catch(() => this.#cache.delete(key))
    const [oldest] = this.#cache.keys()
    if (this.#cache.size > MAX_CACHED && oldest !== undefined) this.#cache.delete(oldest)
    return drawn
  }

  async #draw(data: PreviewJob['data']): Promise<Buffer> {
    try {
      this.#worker ??= this.#start()
      const id = this.#count++
      const drawn = new Promise<Buffer>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject })
      })
      this.#worker.postMessage({ id, data } satisfies PreviewJob)
      return await drawn
    } finally {
      this.#limiter.release()
    }
  }

  #start(): Worker {
    const worker = new Worker(
      join(import.meta.dirname, `preview-worker${extname(import.meta.filename)}`),
      {
        workerData: this.#pages.dir,
        resourceLimits: RESOURCE_LIMITS,
      },
    )
    worker.unref()
    worker.on('message', (result: PreviewResult) => {
      const waiting = this.#waiting.get(result.id)
      this.#waiting.delete(result.id)
      if ('png' in result) waiting?.resolve(Buffer.from(result.png))
      else waiting?.reject(new Error(result.failure))
    })
    // A worker that ended will not answer: fail what waits for it. The next image starts another worker.
    worker.on('error', (error) => this.#fail(worker, error as Error))
    worker.on('exit', () => this.#fail(worker, new Error('the thread that draws has ended')))
    return worker
  }

  /** `error` comes before `exit`. By then a new worker may be running, whose jobs must not fail. */
  #fail(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#worker = null
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
