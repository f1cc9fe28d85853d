import type { TestContext } from 'node:test'
import { freePort } from '../../support/ports.ts'
import { type PostgresServer, query, startPostgres, startStandby } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { signalFamily } from './processes.ts'

const PATIENCE_MS = 20_000

/** When a failover began and when the new primary accepted writes, by `performance.now()`. */
export interface Failover {
  readonly killedAt: number
  readonly promotedAt: number
}

/**
 * A primary and its standby at two fixed addresses, whichever is the primary. They run with `fsync=off`, because the
 * kernel keeps written data when a process is killed.
 */
export class PostgresPair {
  #primary: PostgresServer
  #standby: PostgresServer | null = null
  /** The directory of the next standby. */
  #freePort: number
  readonly #hosts: readonly string[]

  private constructor(primary: PostgresServer, port: number) {
    this.#primary = primary
    this.#freePort = port
    // The standby is listed first: it is up but refuses writes, so clients must try the next host.
    this.#hosts = [`127.0.0.1:${port}`, new URL(primary.url).host]
  }

  static async start(t: TestContext): Promise<PostgresPair> {
    const pair = new PostgresPair(await startPostgres(), await freePort('127.0.0.1'))
    t.after(() => pair.#stop())
    // The default is 5 s, during which a standby that lost its primary notices no promotion.
    await query(pair.primaryUrl, "alter system set wal_retrieve_retry_interval = '500ms'")
    return pair
  }

  /** The connection string with both addresses. */
  get databaseUrl(): string {
    return `postgres://postgres@${this.#hosts.join()}/countersign_template`
  }

  /** The database at the current primary. */
  get primaryUrl(): string {
    return `${this.#primary.url}/countersign_template`
  }

  /**
   * Starts a standby and returns when it is streaming.
   * @param through the address of the primary, if the connection goes through a proxy
   * @param synchronous whether the primary waits for the standby before it confirms a commit
   */
  async join({ through = this.#primary.url, synchronous = true } = {}): Promise<void> {
    // The copy includes the primary's settings. It is made before synchronous commits are configured, so that the
    // standby waits for nobody after its own promotion.
    this.#standby = await startStandby({ url: through }, this.#freePort)
    const admin = `${this.#primary.url}/postgres`
    if (synchronous) {
      await query(admin, "alter system set synchronous_standby_names = 'standby'")
      await query(admin, 'select pg_reload_conf()')
    }
    const state = synchronous ? 'sync' : 'async'
    const follows = `select 1 from pg_stat_replication where state = 'streaming' and sync_state = '${state}'`
    await until(async () => (await query(admin, follows)).length === 1, PATIENCE_MS)
  }

  /** Kills all processes of the primary and promotes the standby. */
  async failOver(): Promise<Failover> {
    const [killed, next] = [this.#primary, this.#standby]
    if (next === null) throw new Error('there is no standby')
    signalFamily(killed.pid, 'SIGKILL')
    const killedAt = performance.now()
    await query(`${next.url}/postgres`, 'select pg_promote()')
    const promotedAt = performance.now()
    this.#primary = next
    this.#standby = null
    this.#freePort = Number(new URL(killed.url).port)
    await killed.stop()
    return { killedAt, promotedAt }
  }

  async #stop(): Promise<void> {
    await this.#standby?.stop()
    await this.#primary.stop()
  }
}
