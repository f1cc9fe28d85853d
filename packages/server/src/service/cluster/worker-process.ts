import type { ChildProcess } from 'node:child_process'
import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { WorkerFailedError } from './exit-codes.ts'
import { type FromWorker, IS_REPLACEMENT, type ToWorker, WORKER_NUMBER } from './ipc-messages.ts'

/** A worker that does not reply in this time is left out of `/metrics`. */
const METRICS_TIMEOUT_MS = 2000

/** One worker process, as the primary sees it. */
export class WorkerProcess {
  /** The address it listens at, once it is ready. Rejects with WorkerFailedError if it ends before. */
  readonly ready: Promise<string>
  /** Resolves when the process has ended: with null if it stopped as requested, else with the reason. */
  readonly ended: Promise<WorkerFailedError | null>
  readonly #worker: Worker
  readonly #pendingHandles: PendingHandles
  #isNotifying = false
  #isReady = false
  #hasEnded = false
  #hasStopped = false
  #failure: WorkerFailedError | null = null
  #metricsRequests: ((text: string) => void)[] = []
  #lastMessageAt = 0

  /**
   * @param number from 1
   * @param isReplacement whether it replaces a worker that ended
   * @param onRequest called with messages about writes and providers
   */
  constructor(number: number, isReplacement: boolean, onRequest: (message: FromWorker) => void) {
    const replacement = isReplacement ? { [IS_REPLACEMENT]: 'yes' } : {}
    const worker = cluster.fork({ [WORKER_NUMBER]: String(number), ...replacement })
    this.#worker = worker
    this.#pendingHandles = new PendingHandles(worker.process)
    this.ended = new Promise<void>((resolve) => {
      const fail = (reason: unknown) => {
        this.#failure ??= new WorkerFailedError(`Worker ${number} has ended: ${reason}.`)
        resolve()
      }
      worker.once('exit', (code, signal) => fail(signal ?? `exit code ${code}`))
      // A process that could not be spawned emits no `exit`. Other errors, such as of a message, come with an exit.
      worker.on('error', (error) => {
        if (worker.process.pid === undefined) fail(error.message)
      })
    }).then(() => this.#onEnd())
    this.ready = new Promise((resolve, reject) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'ready') resolve(message.address)
        this.#onMessage(message, onRequest)
      })
      this.ended.then(reject)
    })
    // Nobody awaits `ready` of a replacement, whose end is logged instead: avoid an unhandled rejection.
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

  /** Milliseconds since its last message, heartbeats included; 0 unless it is ready. */
  get silentForMs(): number {
    return this.isReady ? performance.now() - this.#lastMessageAt : 0
  }

  send(message: ToWorker): void {
    if (this.#worker.isConnected()) this.#worker.send(message)
  }

  /** Sends `written`, unless one is being sent: on receipt the worker reads everything that is new. */
  notifyWritten(): void {
    if (this.#isNotifying || !this.#worker.isConnected()) return
    this.#isNotifying = true
    const message: ToWorker = { kind: 'written' }
    this.#worker.process.send(message, () => {
      this.#isNotifying = false
    })
  }

  kill(): void {
    if (!this.#hasEnded) this.#worker.process.kill('SIGKILL')
  }

  /** @returns its metrics in the Prometheus text format; null if it is not ready, or does not reply in time */
  async metrics(): Promise<string | null> {
    if (!this.isReady) return null
    const { promise, resolve } = Promise.withResolvers<string | null>()
    this.#metricsRequests.push(resolve)
    const timer = setTimeout(() => {
      this.#metricsRequests = this.#metricsRequests.filter((each) => each !== resolve)
      resolve(null)
    }, METRICS_TIMEOUT_MS)
    this.send({ kind: 'get-metrics' })
    return promise.finally(() => clearTimeout(timer))
  }

  #onMessage(message: FromWorker, onRequest: (message: FromWorker) => void): void {
    this.#lastMessageAt = performance.now()
    if (message.kind === 'ready') this.#isReady = true
    else if (message.kind === 'metrics') {
      for (const reply of this.#metricsRequests.splice(0)) reply(message.text)
    } else if (message.kind === 'failed') {
      this.#failure = new WorkerFailedError(message.message, message.exitCode)
      this.kill()
    } else if (message.kind === 'stopped') {
      this.#hasStopped = true
      // Only the IPC channel keeps it alive. Letting it exit by itself, instead of killing it, gives node:cluster time to
      // pass connections on their way to it to other workers.
      this.#worker.disconnect()
    } else onRequest(message)
  }

  #onEnd(): WorkerFailedError | null {
    this.#hasEnded = true
    if (this.#hasStopped) return null
    this.#pendingHandles.close()
    return this.#failure
  }
}

interface Handle {
  close(): void
}

/**
 * Connection handles sent to a worker that it has not acknowledged. node:cluster sends one at a time for each listening
 * address and closes it on acknowledgement. If the worker dies before that, node:cluster never closes the handle, and its
 * client waits forever.
 */
export class PendingHandles {
  /** The last handle for each address. Earlier ones have been acknowledged. */
  readonly #last = new Map<unknown, Handle>()

  constructor(child: ChildProcess) {
    const send = child.send.bind(child) as (...args: unknown[]) => boolean
    child.send = (...args: unknown[]) => {
      const [message, handle] = args as [{ key?: unknown }, Handle | null | undefined]
      if (typeof handle?.close === 'function') this.#last.set(message.key, handle)
      return send(...args)
    }
  }

  /** Closes the handles after the worker has died. Closing an acknowledged handle again does nothing. */
  close(): void {
    for (const handle of this.#last.values()) handle.close()
    this.#last.clear()
  }
}
