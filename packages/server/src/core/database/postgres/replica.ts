import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Db, EventRow } from '../database.ts'
import { eventsAfter, isSameEvent } from '../event-table.ts'
import { connectionConfig, EndingClient, kyselyOver } from './postgres.ts'
import { urlsOfHosts } from './postgres-hosts.ts'
import { ReadClient } from './postgres-pool.ts'

/** Point reads are all that it is asked for: few connections carry much. */
const READERS = 6
/** How long a connection, and an answer, is waited for; and a read altogether. The primary is asked then. */
const PATIENCE_MS = 250
const ALTOGETHER_MS = 400
/** A copy that did not answer, or was behind, is left alone for so long, so that it holds up few. */
const REST_DOWN_MS = 1000
const REST_BEHIND_MS = 50

/** Standbys for reading, one or several; they are connected to as they are needed. */
export function openReplica(url: string): Replica {
  return new PostgresReplica(urlsOfHosts(url).map((each) => new Copy(each)))
}

type Found<T> = { readonly value: T } | 'behind' | 'down'

class PostgresReplica implements Replica {
  readonly #copies: readonly Copy[]
  #turn = 0

  constructor(copies: readonly Copy[]) {
    this.#copies = copies
  }

  async read<T>(known: EventRow, work: (db: Db) => Promise<T | null>): Promise<T | null> {
    this.#turn += 1
    for (let i = 0; i < this.#copies.length; i++) {
      const copy = this.#copies[(this.#turn + i) % this.#copies.length] as Copy
      if (copy.rests) continue
      const found = await copy.read(known, work)
      if (typeof found === 'object') return found.value
      // To wait for another as well would be long.
      if (found === 'down') return null
    }
    return null
  }

  async standing(known: EventRow | null): Promise<ReplicaStanding> {
    const found = await Promise.all(this.#copies.map((copy) => copy.read(known, async () => null)))
    if (found.some((each) => typeof each === 'object')) return 'current'
    return found.includes('behind') ? 'behind' : 'down'
  }

  async close(): Promise<void> {
    await Promise.all(this.#copies.map((copy) => copy.close()))
  }
}

/** A connection, and what it was seen to show: while it lasts, its server goes only forward. */
interface Connection {
  readonly client: ReadClient
  readonly db: Db
  shows: EventRow | null
}

class Copy {
  readonly #pool: pg.Pool
  readonly #connections = new WeakMap<pg.PoolClient, Connection>()
  #restsUntil = Number.NEGATIVE_INFINITY

  constructor(connectionString: string) {
    this.#pool = new pg.Pool({
      ...connectionConfig(),
      application_name: 'countersign-replica',
      connectionString,
      Client: EndingClient,
      connectionTimeoutMillis: PATIENCE_MS,
      query_timeout: PATIENCE_MS,
      max: READERS,
    })
    this.#pool.on('error', () => undefined)
    this.#pool.on('connect', (client) => client.on('error', () => undefined))
  }

  get rests(): boolean {
    return performance.now() < this.#restsUntil
  }

  async read<T>(known: EventRow | null, work: (db: Db) => Promise<T>): Promise<Found<T>> {
    const found = await inTime(this.#read(known, work)).catch((): Found<T> => 'down')
    if (typeof found === 'string')
      this.#restsUntil = performance.now() + (found === 'down' ? REST_DOWN_MS : REST_BEHIND_MS)
    return found
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #read<T>(known: EventRow | null, work: (db: Db) => Promise<T>): Promise<Found<T>> {
    const connection = this.#connectionOf(await this.#pool.connect())
    try {
      // Of the node's last change alone: what was seen of another history says nothing of this one.
      if (connection.shows !== known) {
        if (known !== null && !(await shows(connection.db, known))) return 'behind'
        connection.shows = known
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
    const connection = { client, db, shows: null }
    this.#connections.set(pooled, connection)
    return connection
  }
}

/** A former primary, and whoever follows it, may have another event under the same number. */
async function shows(db: Db, known: EventRow): Promise<boolean> {
  return isSameEvent(known, (await eventsAfter(db, known.seq - 1, 1))[0])
}

async function inTime<T>(read: Promise<Found<T>>): Promise<Found<T>> {
  const ended = new AbortController()
  const late = sleep(ALTOGETHER_MS, 'down' as const, { signal: ended.signal, ref: false })
  try {
    return await Promise.race([read, late])
  } finally {
    ended.abort()
    late.catch(() => undefined)
  }
}

/** Copies of the database that follow it, and may be behind: they are asked for what they are sure to know. */
export interface Replica {
  /**
   * Reads from a copy that shows an event, and with it all that came before.
   * @returns what `work` resolves to, or null where none shows it yet, or answers in time
   */
  read<T>(known: EventRow, work: (db: Db) => Promise<T | null>): Promise<T | null>
  /** Whether a copy shows an event: `behind` where those that answer do not, `down` where none answers. */
  standing(known: EventRow | null): Promise<ReplicaStanding>
  close(): Promise<void>
}

type ReplicaStanding = 'current' | 'behind' | 'down'
