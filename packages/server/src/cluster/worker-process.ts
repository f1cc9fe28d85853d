import type { ChildProcess } from 'node:child_process'
import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { type FromWorker, NUMBER, OTHERS_SERVE, type ToWorker } from './messages.ts'

/** A worker that does not say what its metrics are in this time is left out. */
const METRICS_MS = 2000

/** One life of a worker, as the primary sees it. */
export class WorkerProcess {
  /** Where it listens, once it is ready. Rejects with WorkerFailedError where it ends before. */
  readonly ready: Promise<string>
  /** Resolves when the process is gone: with null where it has stopped as it was asked to, else with what happened. */
  readonly ended: Promise<WorkerFailedError | null>
  readonly #worker: Worker
  readonly #handedOver: HandedOver
  #isTelling = false
  #isReady = false
  #hasEnded = false
  #hasStopped = false
  #failure: WorkerFailedError | null = null
  #metricsAsked: ((text: string) => void)[] = []
  #heardAt = 0

  /**
   * @param number from 1
   * @param othersServe whether it takes the place of another, while others serve
   * @param heard what it says of turns and of providers
   */
  constructor(number: number, othersServe: boolean, heard: (message: FromWorker) => void) {
    const others = othersServe ? { [OTHERS_SERVE]: 'yes' } : {}
    const worker = cluster.fork({ [NUMBER]: String(number), ...others })
    this.#worker = worker
    this.#handedOver = new HandedOver(worker.process)
    this.ended = new Promise<void>((resolve) => {
      const failed = (what: unknown) => {
        this.#failure ??= new WorkerFailedError(`Worker ${number} has ended: ${what}.`, 1)
        resolve()
      }
      worker.once('exit', (code, signal) => failed(signal ?? `exit code ${code}`))
      // A process that could not be made does not exit. What else fails, a message, comes with its end.
      worker.on('error', (error) => {
        if (worker.process.pid === undefined) failed(error.message)
      })
    }).then(() => this.#end())
    this.ready = new Promise((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'ready') resolve(message.address)
        this.#hear(message, heard)
      })
      this.ended.then(reject)
    })
    // Whoever starts the first ones waits for it; of a later one its end is logged.
    this.ready.catch(() => undefined)
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  get isReady(): boolean {
    return this.#isReady && !this.#hasEnded
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** For how many milliseconds it has not said that it is alive; 0 before it was ready, and after its end. */
  get silentFor(): number {
    return this.isReady ? performance.now() - this.#heardAt : 0
  }

  send(message: ToWorker): void {
    if (this.#worker.isConnected()) this.#worker.send(message)
  }

  /** Says that another has written, unless that is on its way already: whoever hears it reads all there is. */
  tellWritten(): void {
    if (this.#isTelling || !this.#worker.isConnected()) return
    this.#isTelling = true
    const message: ToWorker = { kind: 'written' }
    this.#worker.process.send(message, () => {
      this.#isTelling = false
    })
  }

  kill(): void {
    if (!this.#hasEnded) this.#worker.process.kill('SIGKILL')
  }

  /** @returns what `/metrics` says there, or null where it does not say so in time */
  async metrics(): Promise<string | null> {
    if (!this.isReady) return null
    const { promise, resolve } = Promise.withResolvers<string | null>()
    this.#metricsAsked.push(resolve)
    const late = setTimeout(() => {
      this.#metricsAsked = this.#metricsAsked.filter((each) => each !== resolve)
      resolve(null)
    }, METRICS_MS)
    this.send({ kind: 'ask-metrics' })
    return promise.finally(() => clearTimeout(late))
  }

  #hear(message: FromWorker, heard: (message: FromWorker) => void): void {
    this.#heardAt = performance.now()
    if (message.kind === 'ready') this.#isReady = true
    else if (message.kind === 'metrics') {
      for (const answer of this.#metricsAsked.splice(0)) answer(message.text)
    } else if (message.kind === 'failed') {
      this.#failure = new WorkerFailedError(message.message, message.exitCode)
      this.kill()
    } else if (message.kind === 'stopped') {
      this.#hasStopped = true
      // The channel kept it alive. It ends by itself, so that connections on their way to it have gone to others.
      this.#worker.disconnect()
    } else heard(message)
  }

  #end(): WorkerFailedError | null {
    this.#hasEnded = true
    if (this.#hasStopped) return null
    this.#handedOver.close()
    return this.#failure
  }
}

interface Handle {
  close(): void
}

/**
 * The connections on their way to a worker. node:cluster hands over one at a time for each address, and keeps it until
 * the worker says that it has it; where the worker dies just then, it closes it never, and the client waits for ever.
 */
export class HandedOver {
  /** By address: the last one, since one before it has arrived. */
  readonly #last = new Map<unknown, Handle>()

  constructor(child: ChildProcess) {
    const send = child.send.bind(child) as (...args: unknown[]) => boolean
    child.send = (...args: unknown[]) => {
      const [message, handle] = args as [{ key?: unknown }, Handle | null | undefined]
      if (typeof handle?.close === 'function') this.#last.set(message.key, handle)
      return send(...args)
    }
  }

  /** Closes what a worker that has died was to have. What has arrived is closed already, and stays so. */
  close(): void {
    for (const handle of this.#last.values()) handle.close()
    this.#last.clear()
  }
}

/** A worker could not start or stop, or has ended too soon. */
export class WorkerFailedError extends Error {
  override readonly name = 'WorkerFailedError'
  /** What a service without workers would have ended with. */
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}
