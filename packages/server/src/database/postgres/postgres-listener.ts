import type pg from 'pg'
import { connectPrimary, endClient } from './postgres.ts'
import type { Hosts } from './postgres-hosts.ts'
import { NOTIFY_CHANNEL } from './writer.ts'

const RETRY_MS = 250

/**
 * Listens for notifications that other nodes have written. Notifications are lost while it is not connected, so callers
 * must also poll. It reconnects by itself, and then calls back once.
 */
export class PostgresListener {
  readonly #hosts: Hosts
  readonly #onNotification: (processId: number | null) => void
  #client: pg.Client | null = null
  #retry: NodeJS.Timeout | null = null
  #closed = false

  /** @param onNotification called with the writer's server process ID, or null after a reconnect */
  constructor(hosts: Hosts, onNotification: (processId: number | null) => void) {
    this.#hosts = hosts
    this.#onNotification = onNotification
  }

  async start(): Promise<void> {
    this.#retry = null
    const client = await connectPrimary(this.#hosts).catch(() => null)
    if (this.#closed) return client === null ? undefined : endClient(client)
    if (client === null) return this.#scheduleRetry()
    this.#client = client
    client.on('notification', ({ processId }) => this.#onNotification(processId))
    client.on('error', () => this.#reconnectFrom(client))
    client.on('end', () => this.#reconnectFrom(client))
    try {
      await client.query(`listen ${NOTIFY_CHANNEL}`)
      this.#onNotification(null)
    } catch {
      this.#reconnectFrom(client)
    }
  }

  /** Reconnects to the current primary. */
  reconnect(): void {
    if (this.#client !== null) this.#reconnectFrom(this.#client)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    const client = this.#client
    this.#client = null
    if (client !== null) await endClient(client)
  }

  #reconnectFrom(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = null
    void endClient(client)
    if (!this.#closed) this.#scheduleRetry()
  }

  #scheduleRetry(): void {
    this.#retry = setTimeout(() => void this.start(), RETRY_MS)
  }
}
