import type { WriterTurn } from '../core/database/sqlite/writer-turn.ts'
import type { RunningProvider } from '../providers/development/index.ts'
import type { Primary } from '../service/service.ts'
import { ALIVE_MS, type FromWorker, OTHERS_SERVE, type RunsAt, type ToWorker } from './messages.ts'

/** The primary, as one of its workers reaches it. */
export class PrimaryChannel implements Primary {
  readonly othersServe = process.env[OTHERS_SERVE] !== undefined
  readonly turn: WriterTurn
  #metrics: () => Promise<string> = async () => ''
  #hasTurn = false
  #onTurn: () => void = () => undefined
  #onAllReady: () => void = () => undefined
  #onStop: () => void = () => undefined
  readonly #onWritten: (() => void)[] = []
  readonly #providersAsked = new Map<string, PromiseWithResolvers<RunsAt>>()

  constructor() {
    this.turn = {
      acquire: () => this.#acquire(),
      release: (hasWritten) => this.#release(hasWritten),
      onExternalWrite: (listener) => void this.#onWritten.push(listener),
    }
    process.on('message', (message: ToWorker) => this.#hear(message))
  }

  /** Says something to the primary, while there is one. */
  send(message: FromWorker): void {
    if (process.connected) process.send?.(message)
  }

  onStop(listener: () => void): void {
    this.#onStop = listener
  }

  takeMetrics(text: () => Promise<string>): void {
    this.#metrics = text
  }

  allReady(address: string): Promise<void> {
    return new Promise((resolve) => {
      this.#onAllReady = resolve
      this.send({ kind: 'ready', address })
      setInterval(() => this.send({ kind: 'alive' }), ALIVE_MS).unref()
    })
  }

  readonly startDevelopment = async (id: string): Promise<RunningProvider> => {
    const asked = this.#providersAsked.get(id) ?? Promise.withResolvers<RunsAt>()
    this.#providersAsked.set(id, asked)
    this.send({ kind: 'ask-provider', id })
    // It ends with the primary.
    return { ...(await asked.promise), close: async () => undefined }
  }

  /** One transaction at a time asks for it (storage/group-commit.ts). */
  #acquire(): Promise<void> {
    return new Promise((resolve) => {
      this.#onTurn = resolve
      this.send({ kind: 'ask-turn' })
    })
  }

  #release(hasWritten: boolean): void {
    if (!this.#hasTurn) return
    this.#hasTurn = false
    this.send({ kind: 'end-turn', hasWritten })
  }

  #hear(message: ToWorker): void {
    if (message.kind === 'all-ready') this.#onAllReady()
    else if (message.kind === 'stop') this.#onStop()
    else if (message.kind === 'turn') {
      this.#hasTurn = true
      this.#onTurn()
    } else if (message.kind === 'written') for (const listener of this.#onWritten) listener()
    else if (message.kind === 'ask-metrics') void this.#sayMetrics()
    else if (message.kind === 'provider') this.#providersAsked.get(message.id)?.resolve(message)
    else this.#providersAsked.get(message.id)?.reject(new Error(message.message))
  }

  /** What cannot be read is left out, as what does not come in time is. */
  async #sayMetrics(): Promise<void> {
    this.send({ kind: 'metrics', text: await this.#metrics().catch(() => '') })
  }
}
