import type { TestContext } from 'node:test'
import { freePort } from '../../support/ports.ts'
import { type PostgresServer, query, startPostgres, startStandby } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { signalFamily } from './processes.ts'

const PATIENCE_MS = 20_000

/** When a failover began and when the new primary took writes, by `performance.now()`. */
export interface Failover {
  readonly killedAt: number
  readonly promotedAt: number
}

/**
 * A primary and its standby, at two addresses that stay the same whoever of them is the primary. They do not wait for
 * their disks (`fsync=off`): what a process has written, the kernel keeps when it is killed.
 */
export class PostgresPair {
  #primary: PostgresServer
  #standby: PostgresServer | null = null
  /** Where the next standby will be. */
  #freePort: number
  readonly #hosts: readonly string[]

  private constructor(primary: PostgresServer, port: number) {
    this.#primary = primary
    this.#freePort = port
    // The standby comes first: it is up, and takes no writes.
    this.#hosts = [`127.0.0.1:${port}`, new URL(primary.url).host]
  }

  static async start(t: TestContext): Promise<PostgresPair> {
    const pair = new PostgresPair(await startPostgres(), await freePort('127.0.0.1'))
    t.after(() => pair.#stop())
    // By default a standby that has just lost its primary may look away for 5 s, and notices no promotion meanwhile.
    await query(pair.primaryUrl, "alter system set wal_retrieve_retry_interval = '500ms'")
    return pair
  }

  /** What nodes are told: both addresses. */
  get databaseUrl(): string {
    return `postgres://postgres@${this.#hosts.join()}/countersign_template`
  }

  /** The database at the primary of the moment. */
  get primaryUrl(): string {
    return `${this.#primary.url}/countersign_template`
  }

  /**
   * Starts a standby, and returns once it follows.
   * @param through the way to the primary, where it is not the straight one
   * @param synchronous whether the primary waits for it before it answers a commit
   */
  async join({ through = this.#primary.url, synchronous = true } = {}): Promise<void> {
    // It copies the primary's settings: made before, it waits for nobody once it is the primary itself.
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

  /** Kills the primary with all its processes, and makes the standby the primary. */
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
