import cluster from 'node:cluster'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { RunningProvider, StartProvider } from '../providers/development/index.ts'
import { mergeMetrics } from './merge-metrics.ts'
import { ALIVE_MS, type FromWorker } from './messages.ts'
import type { WorkerProcess } from './worker-process.ts'
import { WorkerSlot } from './worker-slot.ts'

/** A worker whose event loop has not turned for so long will not turn: it is ended, and another takes its place. */
const SILENCE_MS = 10_000

const WORKER = join(import.meta.dirname, 'worker-main.ts')

/** All workers of a service: starts them, keeps them, serves what they ask for, stops them. */
export class Workers {
  readonly #log: Logger
  readonly #startProvider: StartProvider
  readonly #slots: WorkerSlot[] = []
  readonly #turns: WriterTurns<WorkerProcess>
  /** Those who were silent when they were looked at last: what they have said since is heard before they are looked at again. */
  #suspected: readonly WorkerProcess[] = []
  #watch: NodeJS.Timeout | undefined

  /** @param startProvider starts a provider for development in this process, or finds it running */
  constructor(log: Logger, startProvider: StartProvider) {
    this.#log = log
    this.#startProvider = startProvider
    this.#turns = new WriterTurns({
      grant: (worker) => worker.send({ kind: 'turn' }),
      overdue: (worker) => {
        log.error(
          { pid: worker.pid },
          'a worker has not ended its transaction in time: it is ended',
        )
        worker.kill()
      },
    })
  }

  /**
   * @returns where they listen, once all are ready
   * @throws WorkerFailedError where one cannot start; then none is left
   */
  async start(count: number): Promise<string> {
    cluster.setupPrimary({ exec: WORKER, args: [] })
    const ears = {
      heard: (worker: WorkerProcess, message: FromWorker) => this.#hear(worker, message),
      gone: (worker: WorkerProcess) => this.#turns.forget(worker),
    }
    for (let number = 1; number <= count; number++)
      this.#slots.push(new WorkerSlot(number, this.#log, ears))
    try {
      const [address] = await Promise.all(this.#slots.map(({ worker }) => worker.ready))
      for (const slot of this.#slots) slot.keep()
      this.#watch = setInterval(() => this.#endSilent(), ALIVE_MS)
      return address as string
    } catch (error) {
      await Promise.all(this.#slots.map((slot) => slot.kill()))
      throw error
    }
  }

  /** How many are ready. */
  get ready(): number {
    return this.#slots.filter(({ worker }) => worker.isReady).length
  }

  /** How often one was started in the place of another. */
  get restarts(): number {
    return this.#slots.reduce((sum, { restarts }) => sum + restarts, 0)
  }

  /**
   * What all that are ready say of themselves.
   * @param own what this process says of itself
   */
  async metrics(own: string): Promise<string> {
    const texts = new Map([['primary', own]])
    const answers = await Promise.all(this.#slots.map(({ worker }) => worker.metrics()))
    for (const [i, text] of answers.entries()) if (text !== null) texts.set(String(i + 1), text)
    return mergeMetrics(texts)
  }

  /** @throws WorkerFailedError where one has not stopped as it should, once all have ended */
  async stop(): Promise<void> {
    const stopped = await Promise.allSettled(this.#slots.map((slot) => slot.stop()))
    clearInterval(this.#watch)
    for (const each of stopped) if (each.status === 'rejected') throw each.reason
  }

  /** Ends all at once. */
  killAll(): void {
    for (const slot of this.#slots) slot.kill()
  }

  #endSilent(): void {
    const silent = this.#slots
      .map(({ worker }) => worker)
      .filter(({ silentFor }) => silentFor > SILENCE_MS)
    for (const worker of silent.filter((each) => this.#suspected.includes(each))) {
      this.#log.error({ workerPid: worker.pid }, 'a worker stands still: it is ended')
      worker.kill()
    }
    this.#suspected = silent
  }

  #hear(worker: WorkerProcess, message: FromWorker): void {
    if (message.kind === 'ask-turn') {
      // One that has ended would never give it back.
      if (!worker.hasEnded) this.#turns.ask(worker)
    } else if (message.kind === 'end-turn') {
      this.#turns.end(worker)
      if (message.hasWritten) this.#tellOthers(worker)
    } else if (message.kind === 'ask-provider') void this.#provide(worker, message.id)
  }

  #tellOthers(writer: WorkerProcess): void {
    for (const { worker } of this.#slots) if (worker !== writer) worker.tellWritten()
  }

  async #provide(worker: WorkerProcess, id: string): Promise<void> {
    try {
      const { issuer, clientSecret }: RunningProvider = await this.#startProvider(id)
      worker.send({ kind: 'provider', id, issuer, clientSecret })
    } catch (error) {
      worker.send({ kind: 'no-provider', id, message: (error as Error).message })
    }
  }
}

/** How long a turn may last: up to 5 seconds of it are a wait for a command of the operator that writes. */
const LONGEST_MS = 10_000
/** Messages that have come while the primary itself was held up are read before a worker is blamed. */
const GRACE_MS = 500

/** What becomes of turns. */
interface Handlers<W> {
  readonly grant: (worker: W) => void
  /** It has had its turn for too long: the others wait, until it is forgotten. */
  readonly overdue: (worker: W) => void
}

/** Whose turn it is to write, of the processes that share a file: first come, first served. */
export class WriterTurns<W> {
  readonly #handlers: Handlers<W>
  #holder: W | null = null
  #waiting: W[] = []
  #deadline: NodeJS.Timeout | undefined

  constructor(handlers: Handlers<W>) {
    this.#handlers = handlers
  }

  ask(worker: W): void {
    this.#waiting.push(worker)
    if (this.#holder === null) this.#next()
  }

  /** The worker gives its turn back; nothing happens where it has none. */
  end(worker: W): void {
    if (this.#holder !== worker) return
    clearTimeout(this.#deadline)
    this.#holder = null
    this.#next()
  }

  /** The worker is no more, and its locks are gone with it. */
  forget(worker: W): void {
    this.#waiting = this.#waiting.filter((each) => each !== worker)
    this.end(worker)
  }

  #next(): void {
    const worker = this.#waiting.shift()
    if (worker === undefined) return
    this.#holder = worker
    this.#deadline = setTimeout(() => {
      this.#deadline = setTimeout(() => this.#handlers.overdue(worker), GRACE_MS)
    }, LONGEST_MS)
    this.#handlers.grant(worker)
  }
}
