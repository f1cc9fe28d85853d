import type { Logger } from 'pino'
import type { FromWorker, ToWorker } from './ipc-messages.ts'
import { WorkerProcess } from './worker-process.ts'

/** Restart backoff: doubles with each restart, and resets once a worker has run for a while. */
const MIN_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 10_000
const BACKOFF_RESET_MS = 60_000

/** Callbacks for the workers of all slots. */
export interface WorkerListener {
  /** Called with messages about writes and providers. */
  readonly onRequest: (worker: WorkerProcess, message: FromWorker) => void
  readonly onEnd: (worker: WorkerProcess) => void
}

/** One of the WORKERS. Once it is supervised, a process that ends is replaced. */
export class WorkerSlot {
  readonly number: number
  readonly #log: Logger
  readonly #listener: WorkerListener
  #worker: WorkerProcess
  #startedAt = 0
  #isSupervised = false
  #isClosed = false
  #backoffMs = MIN_BACKOFF_MS
  #timer: NodeJS.Timeout | undefined
  #restarts = 0

  constructor(number: number, log: Logger, listener: WorkerListener) {
    this.number = number
    this.#log = log
    this.#listener = listener
    this.#worker = this.#start(false)
  }

  /** The current process; after its end, the last one. */
  get worker(): WorkerProcess {
    return this.#worker
  }

  get restarts(): number {
    return this.#restarts
  }

  /** Lets the worker report readiness, and replaces it whenever it ends from now on. */
  supervise(): void {
    this.#isSupervised = true
    this.send({ kind: 'all-ready' })
    if (this.#worker.hasEnded) this.#scheduleRestart()
  }

  send(message: ToWorker): void {
    this.#worker.send(message)
  }

  /**
   * Stops the worker gracefully.
   * @throws WorkerFailedError if it ended in another way
   */
  async stop(): Promise<void> {
    this.#close()
    const worker = this.#worker
    if (worker.hasEnded) return
    // A worker that is not ready yet serves nothing: its failure does not matter.
    const mayFail = !worker.isReady
    worker.send({ kind: 'stop' })
    const failure = await worker.ended
    if (failure !== null && !mayFail) throw failure
  }

  /** Kills the worker, and resolves when it has ended. */
  async kill(): Promise<void> {
    this.#close()
    this.#worker.kill()
    await this.#worker.ended
  }

  #close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #start(isReplacement: boolean): WorkerProcess {
    this.#startedAt = performance.now()
    const worker = new WorkerProcess(this.number, isReplacement, (message) =>
      this.#listener.onRequest(worker, message),
    )
    worker.ended.then((failure) => {
      this.#listener.onEnd(worker)
      if (!this.#isSupervised || this.#isClosed) return
      this.#log.error({ worker: this.number, workerPid: worker.pid }, failure?.message)
      this.#scheduleRestart()
    })
    return worker
  }

  #scheduleRestart(): void {
    if (performance.now() - this.#startedAt > BACKOFF_RESET_MS) this.#backoffMs = MIN_BACKOFF_MS
    this.#timer = setTimeout(() => this.#restart(), this.#backoffMs)
    this.#backoffMs = Math.min(2 * this.#backoffMs, MAX_BACKOFF_MS)
  }

  #restart(): void {
    this.#restarts += 1
    const worker = this.#start(true)
    this.#worker = worker
    worker.ready.then(
      () => {
        // A `stop` sent before the worker had a message listener is lost: send it again.
        worker.send({ kind: this.#isClosed ? 'stop' : 'all-ready' })
        if (this.#isClosed) return
        this.#log.info(
          { worker: this.number, workerPid: worker.pid },
          'a worker has been started again',
        )
      },
      // `ended` has already been handled.
      () => undefined,
    )
  }
}
