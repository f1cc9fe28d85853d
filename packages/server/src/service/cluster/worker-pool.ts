import cluster from 'node:cluster'
import { extname, join } from 'node:path'
import type { Logger } from 'pino'
import type { RunningProvider, StartProvider } from '../../accounts/providers/development/index.ts'
import { type FromWorker, HEARTBEAT_MS } from './ipc-messages.ts'
import { mergeMetrics } from './merge-metrics.ts'
import type { WorkerProcess } from './worker-process.ts'
import { WorkerSlot } from './worker-slot.ts'

/** A worker without a heartbeat for so long is considered hung, killed and replaced. */
const HEARTBEAT_TIMEOUT_MS = 10_000

const WORKER_PROGRAM = join(import.meta.dirname, `worker-main${extname(import.meta.filename)}`)

/** All workers of a service: starts, supervises and stops them, and handles their requests. */
export class WorkerPool {
  readonly #log: Logger
  readonly #startProvider: StartProvider
  readonly #slots: WorkerSlot[] = []
  readonly #writerQueue: WriterQueue<WorkerProcess>
  /**
   * Workers that were silent at the last check. They are killed only if they still are at the next one: if the primary
   * itself was blocked, their heartbeats are delivered in between.
   */
  #suspected: readonly WorkerProcess[] = []
  #heartbeatTimer: NodeJS.Timeout | undefined

  /** @param startProvider starts a development provider in this process, or returns the one that runs */
  constructor(log: Logger, startProvider: StartProvider) {
    this.#log = log
    this.#startProvider = startProvider
    this.#writerQueue = new WriterQueue({
      onGranted: (worker) => worker.send({ kind: 'write-granted' }),
      onTimeout: (worker) => {
        log.error(
          { pid: worker.pid },
          'a worker has not ended its transaction in time: it is ended',
        )
        worker.kill()
      },
    })
  }

  /**
   * @returns the address they listen at, once all are ready
   * @throws WorkerFailedError if one cannot start; then all have been killed
   */
  async start(count: number): Promise<string> {
    cluster.setupPrimary({ exec: WORKER_PROGRAM, args: [] })
    const listener = {
      onRequest: (worker: WorkerProcess, message: FromWorker) => this.#onRequest(worker, message),
      onEnd: (worker: WorkerProcess) => this.#writerQueue.remove(worker),
    }
    for (let number = 1; number <= count; number++)
      this.#slots.push(new WorkerSlot(number, this.#log, listener))
    try {
      const [address] = await Promise.all(this.#slots.map(({ worker }) => worker.ready))
      for (const slot of this.#slots) slot.supervise()
      this.#heartbeatTimer = setInterval(() => this.#killHung(), HEARTBEAT_MS)
      return address as string
    } catch (error) {
      await Promise.all(this.#slots.map((slot) => slot.kill()))
      throw error
    }
  }

  /** The number of workers that are ready. */
  get ready(): number {
    return this.#slots.filter(({ worker }) => worker.isReady).length
  }

  /** The number of restarts of all workers. */
  get restarts(): number {
    return this.#slots.reduce((sum, { restarts }) => sum + restarts, 0)
  }

  /**
   * @param own the metrics of the primary
   * @returns the metrics of all processes as one document in the Prometheus text format
   */
  async metrics(own: string): Promise<string> {
    const texts = new Map([['primary', own]])
    const replies = await Promise.all(this.#slots.map(({ worker }) => worker.metrics()))
    for (const [i, text] of replies.entries()) if (text !== null) texts.set(String(i + 1), text)
    return mergeMetrics(texts)
  }

  /** Stops all workers gracefully. @throws WorkerFailedError if one did not stop as it should, once all have ended */
  async stop(): Promise<void> {
    const stopped = await Promise.allSettled(this.#slots.map((slot) => slot.stop()))
    clearInterval(this.#heartbeatTimer)
    for (const each of stopped) if (each.status === 'rejected') throw each.reason
  }

  killAll(): void {
    for (const slot of this.#slots) slot.kill()
  }

  #killHung(): void {
    const silent = this.#slots
      .map(({ worker }) => worker)
      .filter(({ silentForMs }) => silentForMs > HEARTBEAT_TIMEOUT_MS)
    for (const worker of silent.filter((each) => this.#suspected.includes(each))) {
      this.#log.error({ workerPid: worker.pid }, 'a worker stands still: it is ended')
      worker.kill()
    }
    this.#suspected = silent
  }

  #onRequest(worker: WorkerProcess, message: FromWorker): void {
    if (message.kind === 'acquire-write') {
      // A worker that has ended would never release it.
      if (!worker.hasEnded) this.#writerQueue.acquire(worker)
    } else if (message.kind === 'release-write') {
      this.#writerQueue.release(worker)
      if (message.hasWritten) this.#notifyOthers(worker)
    } else if (message.kind === 'start-provider') void this.#provide(worker, message.id)
  }

  #notifyOthers(writer: WorkerProcess): void {
    for (const { worker } of this.#slots) if (worker !== writer) worker.notifyWritten()
  }

  async #provide(worker: WorkerProcess, id: string): Promise<void> {
    try {
      const { issuer, clientSecret }: RunningProvider = await this.#startProvider(id)
      worker.send({ kind: 'provider-started', id, issuer, clientSecret })
    } catch (error) {
      worker.send({ kind: 'provider-failed', id, message: (error as Error).message })
    }
  }
}

/** How long a worker may write: its transaction waits up to 5 s if a `countersignd` command is writing. */
const MAX_WRITE_MS = 10_000
/** If the primary itself was blocked, the release is delivered in this time. */
const GRACE_MS = 500

interface WriterQueueListener<W> {
  readonly onGranted: (worker: W) => void
  /** The worker has not released in time. The others wait until it is removed. */
  readonly onTimeout: (worker: W) => void
}

/** Lets one of the processes that share a SQLite file write at a time, first come, first served. */
export class WriterQueue<W> {
  readonly #listener: WriterQueueListener<W>
  #writer: W | null = null
  #waiting: W[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(listener: WriterQueueListener<W>) {
    this.#listener = listener
  }

  acquire(worker: W): void {
    this.#waiting.push(worker)
    if (this.#writer === null) this.#grantNext()
  }

  /** Does nothing if the worker is not the writer. */
  release(worker: W): void {
    if (this.#writer !== worker) return
    clearTimeout(this.#timer)
    this.#writer = null
    this.#grantNext()
  }

  /** Removes a worker whose process has ended, which has also released its lock on the file. */
  remove(worker: W): void {
    this.#waiting = this.#waiting.filter((each) => each !== worker)
    this.release(worker)
  }

  #grantNext(): void {
    const worker = this.#waiting.shift()
    if (worker === undefined) return
    this.#writer = worker
    this.#timer = setTimeout(() => {
      this.#timer = setTimeout(() => this.#listener.onTimeout(worker), GRACE_MS)
    }, MAX_WRITE_MS)
    this.#listener.onGranted(worker)
  }
}
