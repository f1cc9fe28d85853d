import pg from 'pg'
import { withTimeout } from '../../base/timeout.ts'
import type { Db, EventRow } from '../database.ts'
import { eventsAfter, isSameEvent } from '../event-table.ts'
import { connectionConfig, ForceClosingClient, kyselyOver } from './postgres.ts'
import { hostUrls } from './postgres-hosts.ts'
import { ReadClient } from './postgres-pool.ts'

/** For each standby. Point reads take a fraction of a millisecond, so a few connections are enough. */
const READERS = 6
/** For connecting and for each query, and for a read in total. After that, the primary is asked. */
const STEP_TIMEOUT_MS = 250
const READ_TIMEOUT_MS = 400
/** How long a standby is skipped after it failed or was behind, so that it delays few reads. */
const DOWN_COOLDOWN_MS = 1000
const BEHIND_COOLDOWN_MS = 50

/** Opens one or more standbys for reading. Connects on demand. @param url may name several hosts, separated by commas */
export function openReplica(url: string): Replica {
  return new PostgresReplica(hostUrls(url).map((each) => new Standby(each)))
}

type StandbyRead<T> = { readonly value: T } | 'behind' | 'down'

class PostgresReplica implements Replica {
  readonly #standbys: readonly Standby[]
  #next = 0

  constructor(standbys: readonly Standby[]) {
    this.#standbys = standbys
  }

  async read<T>(known: EventRow, work: (db: Db) => Promise<T | null>): Promise<T | null> {
    this.#next += 1
    for (let i = 0; i < this.#standbys.length; i++) {
      const standby = this.#standbys[(this.#next + i) % this.#standbys.length] as Standby
      if (standby.isCoolingDown) continue
      const found = await standby.read(known, work)
      if (typeof found === 'object') return found.value
      // Waiting for a second timeout would take too long.
      if (found === 'down') return null
    }
    return null
  }

  async status(known: EventRow | null): Promise<ReplicaStatus> {
    const found = await Promise.all(
      this.#standbys.map((standby) => standby.read(known, async () => null)),
    )
    if (found.some((each) => typeof each === 'object')) return 'current'
    return found.includes('behind') ? 'behind' : 'down'
  }

  async close(): Promise<void> {
    await Promise.all(this.#standbys.map((standby) => standby.close()))
  }
}

/** A connection to one server, which never goes back: an event that it has shown stays visible on it. */
interface Connection {
  readonly client: ReadClient
  readonly db: Db
  /** The event last confirmed on this connection. */
  confirmed: EventRow | null
}

class Standby {
  readonly #pool: pg.Pool
  readonly #connections = new WeakMap<pg.PoolClient, Connection>()
  #skippedUntil = Number.NEGATIVE_INFINITY

  constructor(connectionString: string) {
    this.#pool = new pg.Pool({
      ...connectionConfig(),
      application_name: 'countersign-replica',
      connectionString,
      Client: ForceClosingClient,
      connectionTimeoutMillis: STEP_TIMEOUT_MS,
      query_timeout: STEP_TIMEOUT_MS,
      max: READERS,
    })
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', (client) => client.on('error', () => undefined))
  }

  get isCoolingDown(): boolean {
    return performance.now() < this.#skippedUntil
  }

  async read<T>(known: EventRow | null, work: (db: Db) => Promise<T>): Promise<StandbyRead<T>> {
    const found = await withTimeout(this.#read(known, work), READ_TIMEOUT_MS).catch(
      (): StandbyRead<T> => 'down',
    )
    if (typeof found === 'string')
      this.#skippedUntil =
        performance.now() + (found === 'down' ? DOWN_COOLDOWN_MS : BEHIND_COOLDOWN_MS)
    return found
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #read<T>(known: EventRow | null, work: (db: Db) => Promise<T>): Promise<StandbyRead<T>> {
    const connection = this.#connectionOf(await this.#pool.connect())
    try {
      // Compares the event itself, not its number: after a failover, another history may have reached the same number.
      if (connection.confirmed !== known) {
        if (known !== null && !(await hasEvent(connection.db, known))) return 'behind'
        connection.confirmed = known
      }
      return { value: await work(connection.db) }
    } finally {
      connection.client.release()
    }
  }

  #connectionOf(pooled: pg.PoolClient): Connection {
    const known = this.#connections.get(pooled)
    if (known !== undefined) return known
    const client = new ReadClient(pooled)
    const db = kyselyOver((text, values) => client.query(text, values))
    const connection = { client, db, confirmed: null }
    this.#connections.set(pooled, connection)
    return connection
  }
}

/** A former primary and its standbys may have another event with the same number. */
async function hasEvent(db: Db, known: EventRow): Promise<boolean> {
  return isSameEvent(known, (await eventsAfter(db, known.seq - 1, 1))[0])
}

/** Standbys of the database, which may lag behind. Reads only from one that has replayed what the caller knows. */
export interface Replica {
  /**
   * Reads from a standby that shows an event, and so all events before it.
   * @param known the last event that the caller knows
   * @returns what `work` resolves to, or null if no standby shows the event and answers in time
   */
  read<T>(known: EventRow, work: (db: Db) => Promise<T | null>): Promise<T | null>
  /** `current`: a standby shows the event. `behind`: those that answer do not show it. `down`: none answers. */
  status(known: EventRow | null): Promise<ReplicaStatus>
  close(): Promise<void>
}

type ReplicaStatus = 'current' | 'behind' | 'down'
