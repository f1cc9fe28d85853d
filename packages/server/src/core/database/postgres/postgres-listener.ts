import type pg from 'pg'
import { connectPrimary, endClient } from './postgres.ts'
import type { Hosts } from './postgres-hosts.ts'
import { CHANNEL } from './writer.ts'

const RETRY_MS = 250

/**
 * Hears what other nodes write, as a hint: while it is not connected nothing is heard, and whoever listens has to ask
 * for themselves as well. It connects again by itself, and then says that something may have changed.
 */
export class PostgresListener {
  readonly #hosts: Hosts
  readonly #heard: (processId: number | null) => void
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #closed = false

  /** @param heard called with the server's process whose transaction it was, or null where that is not known */
  constructor(hosts: Hosts, heard: (processId: number | null) => void) {
    this.#hosts = hosts
    this.#heard = heard
  }

  async start(): Promise<void> {
    this.#retry = null
    const client = await connectPrimary(this.#hosts).catch(() => null)
    if (this.#closed) return client === null ? undefined : endClient(client)
    if (client === null) return this.#later()
    this.#client = client
    client.on('notification', ({ processId }) => this.#heard(processId))
    client.on('error', () => this.#again(client))
    client.on('end', () => this.#again(client))
    try {
      await client.query(`listen ${CHANNEL}`)
      this.#heard(null)
    } catch {
      this.#again(client)
    }
  }

  /** Listens to whoever is the primary now. */
  renew(): void {
    if (this.#client !== null) this.#again(this.#client)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    const client = this.#client
    this.#client = null
    if (client !== null) await endClient(client)
  }

  #again(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = null
    void endClient(client)
    if (!this.#closed) this.#later()
  }

  #later(): void {
    this.#retry = setTimeout(() => void this.start(), RETRY_MS)
  }
}
