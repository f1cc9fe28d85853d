import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Tables } from '../database.ts'
import type { ConnectionStats } from '../stats.ts'
import {
  connectionConfig,
  execute,
  ForceClosingClient,
  isPlanChanged,
  isQueryTimeout,
  isUsableAfter,
  type Result,
  wrapStorageErrors,
} from './postgres.ts'
import type { Hosts } from './postgres-hosts.ts'

export interface PoolOptions {
  /** The maximum number of connections. They are opened on demand. */
  readonly max: number
  /** For getting a connection, and again for a query. Default: `connectionConfig`'s. */
  readonly timeoutMs?: number
}

const pools = new WeakMap<Kysely<Tables>, ReadPool>()

/** Kysely over a pool of read connections to the primary. */
export function kyselyOverPool(hosts: Hosts, options: PoolOptions): Kysely<Tables> {
  const pool = new ReadPool(hosts, options)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  pools.set(db, pool)
  return db
}

/** The connections of several pools, summed. @param dbs from `kyselyOverPool` */
export function connectionsOf(dbs: readonly Kysely<Tables>[]): ConnectionStats {
  const all = dbs.map((db) => pools.get(db)?.stats)
  const sum = (of: keyof ConnectionStats) => all.reduce((n, each) => n + (each?.[of] ?? 0), 0)
  return { busy: sum('busy'), idle: sum('idle'), waiting: sum('waiting') }
}

/** The pool interface of Kysely's PostgresDialect. */
class ReadPool implements PostgresPool {
  readonly #hosts: Hosts
  readonly #config: pg.PoolConfig
  readonly #clients = new WeakMap<pg.PoolClient, ReadClient>()
  #pool: pg.Pool | null = null
  #url = ''

  constructor(hosts: Hosts, { max, timeoutMs }: PoolOptions) {
    this.#hosts = hosts
    const timeouts = timeoutMs && { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs }
    this.#config = { ...connectionConfig(), ...timeouts, max }
  }

  get stats(): ConnectionStats {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#pool ?? {}
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
  }

  async connect(): Promise<PostgresPoolClient> {
    for (;;) {
      const pool = this.#pool?.idleCount ? this.#pool : await this.#poolOfPrimary()
      const client = await wrapStorageErrors(() => pool.connect())
      const known = this.#clients.get(client) ?? (await this.#admit(client))
      if (this.#hosts.isCurrent(client)) return known as unknown as PostgresPoolClient
      client.release(true)
    }
  }

  async end(): Promise<void> {
    await this.#pool?.end()
  }

  async #admit(client: pg.PoolClient): Promise<ReadClient> {
    try {
      await wrapStorageErrors(() => this.#hosts.admit(client))
    } catch (error) {
      client.release(true)
      throw error
    }
    const admitted = new ReadClient(client, this.#hosts)
    this.#clients.set(client, admitted)
    return admitted
  }

  /** Called only before opening a connection: existing ones break when their server fails. */
  async #poolOfPrimary(): Promise<pg.Pool> {
    const url = await wrapStorageErrors(() => this.#hosts.primary())
    if (this.#pool !== null && this.#url === url) return this.#pool
    const before = this.#pool
    const pool = new pg.Pool({ ...this.#config, connectionString: url, Client: ForceClosingClient })
    // An idle connection was lost. The next read opens another.
    pool.on('error', () => undefined)
    // A connection in use was lost. Its query rejects.
    pool.on('connect', (client) => client.on('error', () => undefined))
    this.#pool = pool
    this.#url = url
    before?.end().catch(() => undefined)
    return pool
  }
}

/** The client interface of Kysely's PostgresDialect, over a connection of a pool. */
export class ReadClient {
  readonly #client: pg.PoolClient
  readonly #hosts: Hosts | null
  #broken = false

  /** @param hosts informed of responses and losses; null for a replica */
  constructor(client: pg.PoolClient, hosts: Hosts | null = null) {
    this.#client = client
    this.#hosts = hosts
  }

  async query(text: string, values: readonly unknown[]): Promise<Result> {
    try {
      const result = await execute(this.#client, text, values)
      this.#hosts?.recordResponse(this.#client)
      return result
    } catch (error) {
      if (isQueryTimeout(error)) this.#hosts?.recordTimeout()
      else if (!isUsableAfter(error)) this.#hosts?.recordLoss()
      if (!isUsableAfter(error) || isPlanChanged(error)) this.#broken = true
      if (!isPlanChanged(error)) throw error
      return wrapStorageErrors(() => this.#client.query({ text, values: [...values] }))
    }
  }

  release(): void {
    this.#client.release(this.#broken)
  }
}
