import { type RunningProvider, startDevelopmentProvider } from '../providers/development/index.ts'

/**
 * The providers for development of all workers. What is begun at a provider is in its memory, and the browser comes
 * back to whichever worker: so there is one of each, here.
 */
export class ProviderHost {
  readonly #baseUrl: URL
  readonly #running = new Map<string, Promise<RunningProvider>>()

  constructor(baseUrl: URL) {
    this.#baseUrl = baseUrl
  }

  start(id: string): Promise<RunningProvider> {
    let running = this.#running.get(id)
    if (running === undefined) {
      running = startDevelopmentProvider(id, this.#baseUrl)
      this.#running.set(id, running)
    }
    return running
  }

  async close(): Promise<void> {
    for (const started of await Promise.allSettled(this.#running.values()))
      if (started.status === 'fulfilled') await started.value.close()
  }
}
