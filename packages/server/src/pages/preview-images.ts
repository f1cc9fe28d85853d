import { Worker } from 'node:worker_threads'
import type { ConcurrencyLimiter } from '../core/limits/concurrency-limiter.ts'
import type { Pages } from './load.ts'
import type { PreviewJob, PreviewResult } from './preview-worker.ts'
import type { PreviewData } from './views/preview.tsx'

/** How many pictures are kept, at about 60 KB each. */
const KEPT = 200

interface Waiting {
  resolve(png: Buffer): void
  reject(error: Error): void
}

/** Preview images: drawn by a thread of their own, which starts with the first, and kept while they are asked for. */
export class PreviewImages {
  readonly #pages: Pages
  readonly #limiter: ConcurrencyLimiter
  readonly #kept = new Map<string, Promise<Buffer>>()
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | null = null
  #count = 0

  /** @param room for those that wait to be drawn */
  constructor(pages: Pages, limiter: ConcurrencyLimiter) {
    this.#pages = pages
    this.#limiter = limiter
  }

  /**
   * The picture of some facts, a PNG.
   * @throws CodedError UNAVAILABLE where too many wait already
   */
  async of(data: PreviewData): Promise<Buffer> {
    const key = JSON.stringify(data)
    const known = this.#kept.get(key)
    if (known === undefined) {
      this.#limiter.acquire()
      return this.#keep(key, this.#draw(data))
    }
    // What was asked for last is forgotten last.
    this.#kept.delete(key)
    this.#kept.set(key, known)
    return known
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #keep(key: string, drawn: Promise<Buffer>): Promise<Buffer> {
    this.#kept.set(key, drawn)
    drawn.catch(() => this.#kept.delete(key))
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return drawn
  }

  async #draw(data: PreviewData): Promise<Buffer> {
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
    const worker = new Worker(new URL('./preview-worker.ts', import.meta.url), {
      workerData: this.#pages.dir,
    })
    worker.unref()
    worker.on('message', (result: PreviewResult) => {
      const waiting = this.#waiting.get(result.id)
      this.#waiting.delete(result.id)
      if ('png' in result) waiting?.resolve(Buffer.from(result.png))
      else waiting?.reject(new Error(result.failure))
    })
    // A thread that ended answers nobody; the next picture starts another.
    worker.on('error', (error) => this.#fail(worker, error as Error))
    worker.on('exit', () => this.#fail(worker, new Error('the thread that draws has ended')))
    return worker
  }

  /** An error comes before the end of its thread: by then another may be drawing, and what waits waits for that. */
  #fail(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#worker = null
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
