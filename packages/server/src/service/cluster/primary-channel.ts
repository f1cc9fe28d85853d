import type { RunningProvider } from '../../accounts/providers/development/index.ts'
import type { WriterTurn } from '../../database/sqlite/writer-turn.ts'
import type { Primary } from '../service.ts'
import {
  type FromWorker,
  HEARTBEAT_MS,
  IS_REPLACEMENT,
  type ProviderEndpoint,
  type ToWorker,
} from './ipc-messages.ts'

/** A worker's end of the IPC channel to the primary. */
export class PrimaryChannel implements Primary {
  readonly isReplacement = process.env[IS_REPLACEMENT] !== undefined
  readonly writerTurn: WriterTurn
  #renderMetrics: () => Promise<string> = async () => ''
  #mayWrite = false
  #onWriteGranted: () => void = () => undefined
  #onAllReady: () => void = () => undefined
  #onStop: () => void = () => undefined
  readonly #onWritten: (() => void)[] = []
  readonly #pendingProviders = new Map<string, PromiseWithResolvers<ProviderEndpoint>>()

  constructor() {
    this.writerTurn = {
      acquire: () => this.#acquireWrite(),
      release: (hasWritten) => this.#releaseWrite(hasWritten),
      onExternalWrite: (listener) => void this.#onWritten.push(listener),
    }
    process.on('message', (message: ToWorker) => this.#onMessage(message))
  }

  /** Does nothing if the channel is closed. */
  send(message: FromWorker): void {
    if (process.connected) process.send?.(message)
  }

  onStop(listener: () => void): void {
    this.#onStop = listener
  }

  publishMetrics(text: () => Promise<string>): void {
    this.#renderMetrics = text
  }

  reportReady(address: string): Promise<void> {
    return new Promise((resolve) => {
      this.#onAllReady = resolve
      this.send({ kind: 'ready', address })
      setInterval(() => this.send({ kind: 'heartbeat' }), HEARTBEAT_MS).unref()
    })
  }

  readonly startDevelopmentProvider = async (id: string): Promise<RunningProvider> => {
    const pending = this.#pendingProviders.get(id) ?? Promise.withResolvers<ProviderEndpoint>()
    this.#pendingProviders.set(id, pending)
    this.send({ kind: 'start-provider', id })
    // The primary closes it.
    return { ...(await pending.promise), close: async () => undefined }
  }

  /** One pending request is enough: group commit runs one transaction at a time. */
  #acquireWrite(): Promise<void> {
    return new Promise((resolve) => {
      this.#onWriteGranted = resolve
      this.send({ kind: 'acquire-write' })
    })
  }

  #releaseWrite(hasWritten: boolean): void {
    if (!this.#mayWrite) return
    this.#mayWrite = false
    this.send({ kind: 'release-write', hasWritten })
  }

  #onMessage(message: ToWorker): void {
    if (message.kind === 'all-ready') this.#onAllReady()
    else if (message.kind === 'stop') this.#onStop()
    else if (message.kind === 'write-granted') {
      this.#mayWrite = true
      this.#onWriteGranted()
    } else if (message.kind === 'written') for (const listener of this.#onWritten) listener()
    else if (message.kind === 'get-metrics') void this.#sendMetrics()
    else if (message.kind === 'provider-started')
      this.#pendingProviders.get(message.id)?.resolve(message)
    else this.#pendingProviders.get(message.id)?.reject(new Error(message.message))
  }

  async #sendMetrics(): Promise<void> {
    this.send({ kind: 'metrics', text: await this.#renderMetrics().catch(() => '') })
  }
}
