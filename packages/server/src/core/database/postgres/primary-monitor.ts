import type pg from 'pg'
import { endClient } from './postgres.ts'
import { type Hosts, newProbe, roleOf } from './postgres-hosts.ts'

const EVERY_MS = 1000

/**
 * Asks all hosts again and again whether one of them has become the primary: connections to the one before may go on
 * as if nothing had happened. Where there is one host there is nobody to ask.
 */
export class Lookout {
  readonly #hosts: Hosts
  readonly #promoted: () => void
  readonly #clients = new Map<string, pg.Client>()
  #timer: NodeJS.Timeout | null = null
  #asking = false

  /** @param promoted called when another host has become the primary */
  constructor(hosts: Hosts, promoted: () => void) {
    this.#hosts = hosts
    this.#promoted = promoted
  }

  start(): void {
    if (this.#hosts.urls.length > 1) this.#timer = setInterval(() => void this.#askAll(), EVERY_MS)
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    await Promise.allSettled([...this.#clients.values()].map(endClient))
  }

  async #askAll(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    await Promise.allSettled(this.#hosts.urls.map((url) => this.#ask(url)))
    this.#asking = false
  }

  async #ask(url: string): Promise<void> {
    const client = this.#clients.get(url) ?? newProbe(url)
    try {
      if (!this.#clients.has(url)) {
        this.#clients.set(url, client)
        await client.connect()
      }
      const timeline = await roleOf(client)
      if (timeline !== null && this.#hosts.learn(timeline)) this.#promoted()
    } catch {
      this.#clients.delete(url)
      void endClient(client)
    }
  }
}
