import type { Logger } from 'pino'
import type { FromWorker, ToWorker } from './messages.ts'
import { WorkerProcess } from './worker-process.ts'

/** How long after its end a worker is started again: twice as long each time, until it has run for a while. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
const A_WHILE_MS = 60_000

/** What is heard of workers. */
export interface Ears {
  readonly heard: (worker: WorkerProcess, message: FromWorker) => void
  readonly gone: (worker: WorkerProcess) => void
}

/** The place of one worker. Once it is kept, a process that ends there is followed by another. */
export class WorkerSlot {
  readonly number: number
  readonly #log: Logger
  readonly #ears: Ears
  #worker: WorkerProcess
  #startedAt = 0
  #isKept = false
  #isClosed = false
  #pause = FIRST_PAUSE_MS
  #timer: NodeJS.Timeout | undefined
  #restarts = 0

  constructor(number: number, log: Logger, ears: Ears) {
    this.number = number
    this.#log = log
    this.#ears = ears
    this.#worker = this.#start(false)
  }

  /** The process that is there, or was last. */
  get worker(): WorkerProcess {
    return this.#worker
  }

  /** How often another process was started here. */
  get restarts(): number {
    return this.#restarts
  }

  /** From now on there is always one. */
  keep(): void {
    this.#isKept = true
    this.send({ kind: 'all-ready' })
    if (this.#worker.hasEnded) this.#startLater()
  }

  send(message: ToWorker): void {
    this.#worker.send(message)
  }

  /**
   * Has the process stop as the service does, and resolves when it has.
   * @throws WorkerFailedError where it has ended otherwise
   */
  async stop(): Promise<void> {
    this.#close()
    const worker = this.#worker
    if (worker.hasEnded) return
    // One that is not ready yet has nothing to lose.
    const mayFail = !worker.isReady
    worker.send({ kind: 'stop' })
    const failure = await worker.ended
    if (failure !== null && !mayFail) throw failure
  }

  /** Ends the process at once. */
  async kill(): Promise<void> {
    this.#close()
    this.#worker.kill()
    await this.#worker.ended
  }

  #close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #start(othersServe: boolean): WorkerProcess {
    this.#startedAt = performance.now()
    const worker = new WorkerProcess(this.number, othersServe, (message) =>
      this.#ears.heard(worker, message),
    )
    worker.ended.then((failure) => {
      this.#ears.gone(worker)
      if (!this.#isKept || this.#isClosed) return
      this.#log.error({ worker: this.number, workerPid: worker.pid }, failure?.message)
      this.#startLater()
    })
    return worker
  }

  #startLater(): void {
    if (performance.now() - this.#startedAt > A_WHILE_MS) this.#pause = FIRST_PAUSE_MS
    this.#timer = setTimeout(() => this.#startAgain(), this.#pause)
    this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS)
  }

  #startAgain(): void {
    this.#restarts += 1
    const worker = this.#start(true)
    this.#worker = worker
    worker.ready.then(
      () => {
        // What was said while it read its program may not have been heard.
        worker.send({ kind: this.#isClosed ? 'stop' : 'all-ready' })
        if (this.#isClosed) return
        this.#log.info(
          { worker: this.number, workerPid: worker.pid },
          'a worker has been started again',
        )
      },
      // Its end has been heard of already.
      () => undefined,
    )
  }
}
