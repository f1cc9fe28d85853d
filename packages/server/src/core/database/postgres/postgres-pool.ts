import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Tables } from '../database.ts'
import type { ConnectionStats } from '../stats.ts'
import {
  connectionConfig,
  EndingClient,
  execute,
  isPlanChanged,
  isSlow,
  isUsableAfter,
  orStorageFailure,
  type Result,
} from './postgres.ts'
import type { Hosts } from './postgres-hosts.ts'

export interface PoolOptions {
  /** How many connections there are at most. They are opened as they are needed. */
  readonly max: number
  /** After how many milliseconds a wait for a connection, and one for an answer, is given up; else after a long time. */
  readonly patience?: number
}

const pools = new WeakMap<Kysely<Tables>, ReadPool>()

/** Kysely over a pool of connections to the primary, for reading. */
export function kyselyOverPool(hosts: Hosts, options: PoolOptions): Kysely<Tables> {
  const pool = new ReadPool(hosts, options)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  pools.set(db, pool)
  return db
}

/** How the connections of several pools stand, taken together. */
export function connectionsOf(dbs: readonly Kysely<Tables>[]): ConnectionStats {
  const all = dbs.map((db) => pools.get(db)?.stats)
  const sum = (of: keyof ConnectionStats) => all.reduce((n, each) => n + (each?.[of] ?? 0), 0)
  return { busy: sum('busy'), idle: sum('idle'), waiting: sum('waiting') }
}

/** The shape of a pool that Kysely's PostgresDialect asks for. */
class ReadPool implements PostgresPool {
  readonly #hosts: Hosts
  readonly #config: pg.PoolConfig
  readonly #clients = new WeakMap<pg.PoolClient, ReadClient>()
  #pool: pg.Pool | null = null
  #url = ''

  constructor(hosts: Hosts, { max, patience }: PoolOptions) {
    this.#hosts = hosts
    const changes = patience && { connectionTimeoutMillis: patience, query_timeout: patience }
    this.#config = { ...connectionConfig(), ...changes, max }
  }

  get stats(): ConnectionStats {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#pool ?? {}
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
  }

  async connect(): Promise<PostgresPoolClient> {
    for (;;) {
      const pool = this.#pool?.idleCount ? this.#pool : await this.#poolOfPrimary()
      const client = await orStorageFailure(() => pool.connect())
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
      await orStorageFailure(() => this.#hosts.admit(client))
    } catch (error) {
      client.release(true)
      throw error
    }
    const admitted = new ReadClient(client, this.#hosts)
    this.#clients.set(client, admitted)
    return admitted
  }

  /** Asked where a connection would have to be opened: those that there are end with the server that they lead to. */
  async #poolOfPrimary(): Promise<pg.Pool> {
    const url = await orStorageFailure(() => this.#hosts.primary())
    if (this.#pool !== null && this.#url === url) return this.#pool
    const before = this.#pool
    const pool = new pg.Pool({ ...this.#config, connectionString: url, Client: EndingClient })
    // A connection that nobody uses was cut; the next read opens another.
    pool.on('error', () => undefined)
    // And one that somebody uses: they are told by what they asked for.
    pool.on('connect', (client) => client.on('error', () => undefined))
    this.#pool = pool
    this.#url = url
    before?.end().catch(() => undefined)
    return pool
  }
}

/** A connection of a pool, in the shape that Kysely asks for. */
export class ReadClient {
  readonly #client: pg.PoolClient
  readonly #hosts: Hosts | null
  #broken = false

  /** @param hosts told whether the connection answers */
  constructor(client: pg.PoolClient, hosts: Hosts | null = null) {
    this.#client = client
    this.#hosts = hosts
  }

  async query(text: string, values: readonly unknown[]): Promise<Result> {
    try {
      const result = await execute(this.#client, text, values)
      this.#hosts?.heard(this.#client)
      return result
    } catch (error) {
      if (isSlow(error)) this.#hosts?.silent()
      else if (!isUsableAfter(error)) this.#hosts?.lost()
      if (!isUsableAfter(error) || isPlanChanged(error)) this.#broken = true
      if (!isPlanChanged(error)) throw error
      return orStorageFailure(() => this.#client.query({ text, values: [...values] }))
    }
  }

  release(): void {
    this.#client.release(this.#broken)
  }
}
