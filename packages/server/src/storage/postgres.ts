import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { StorageFailure, type Tables } from './database.ts'
import type { Hosts } from './postgres-hosts.ts'

/** A server that does not answer is given up after so long; other nodes that write are waited for as long. */
const PATIENCE_MS = 10_000

/** A node that stands still in the middle of a transaction holds all the others up: the server ends it. */
const IDLE_IN_TRANSACTION_MS = 5_000

/** Enough for every statement that this code knows, and a bound should one ever be built from input. */
const STATEMENT_NAMES = 500

const INT8 = 20
const BYTEA = 17

/**
 * A connection to the primary, not yet open.
 * @param changes to how it is opened
 */
export async function newClient(hosts: Hosts, changes: pg.ClientConfig = {}): Promise<pg.Client> {
  const url = await orStorageFailure(() => hosts.primary())
  return new pg.Client({ ...connectionConfig(), connectionString: url, ...changes })
}

/** How connections are opened, and how values come back. Only here: nothing is set for all of pg. */
function connectionConfig(): pg.ClientConfig {
  return {
    application_name: 'countersign',
    keepAlive: true,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
    lock_timeout: PATIENCE_MS - 1000,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
  }
}

function parserOf(oid: number, format?: 'text' | 'binary') {
  if (format !== 'binary' && oid === INT8) return safeInteger
  if (format !== 'binary' && oid === BYTEA) return bytesOf
  return pg.types.getTypeParser(oid, format as 'text')
}

/** Times, sequence numbers and counts: all below 2^53, or something is wrong. */
function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error('a number in the database is too large')
  return value
}

/** PostgreSQL writes bytes as `\x` and hexadecimal. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'))
}

const names = new Map<string, string>()

/** A name under which a statement is prepared once a connection, or none where there are too many. */
function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= STATEMENT_NAMES) return known
  const name = `cs${names.size}`
  names.set(text, name)
  return name
}

/** What a statement resolves to. */
export type Result = pg.QueryResult<Record<string, unknown>>

/**
 * Executes a statement that is prepared once a connection.
 * @throws what the database refuses as it is, and everything else as StorageFailure
 */
export async function execute(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<Result> {
  const plain = { text, values: [...values] }
  if (values.length === 0) return orStorageFailure(() => client.query(text))
  const name = nameOf(text)
  if (name === undefined) return orStorageFailure(() => client.query(plain))
  return orStorageFailure(() => client.query({ ...plain, name }))
}

/** Several statements without parameters in one round trip. @returns the result of each */
export async function executeScript(client: pg.ClientBase, text: string): Promise<Result[]> {
  const results = await orStorageFailure(() => client.query(text))
  return Array.isArray(results) ? results : [results]
}

/** Data that cannot be, constraints, and mistakes of our own are told as they are (PostgreSQL, appendix A). */
const ANSWERS = /^(?:0A|21|22|23|25P02|42)/
/** A migration has changed a table since the statement was prepared in this connection. */
const PLAN_CHANGED = '0A000'

export async function orStorageFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StorageFailure) throw error
    if (error instanceof pg.DatabaseError && ANSWERS.test(error.code ?? '')) {
      if (error.code !== PLAN_CHANGED) throw error
    }
    throw new StorageFailure('The database failed.', { cause: error })
  }
}

/** Whether a migration, of a newer node perhaps, has changed what this connection has prepared. */
export function isPlanChanged(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error
  return cause instanceof pg.DatabaseError && cause.code === PLAN_CHANGED
}

/** Whether an error leaves a connection that can go on. */
export function isUsableAfter(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error
  return (
    cause instanceof pg.DatabaseError &&
    cause.severity === 'ERROR' &&
    // Read-only: this was the primary once, or has never been.
    cause.code !== '25006'
  )
}

/** Kysely over a pool of connections to the primary, for reading. */
export function kyselyOverPool(hosts: Hosts, max: number): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool: new ReadPool(hosts, max) }) })
}

/** Kysely over whatever executes statements one after another. */
export function kyselyOver(
  run: (text: string, values: readonly unknown[]) => Promise<Result>,
): Kysely<Tables> {
  const client = { query: run, release() {} } as unknown as PostgresPoolClient
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect: async () => client, end: async () => {} } }),
  })
}

/** The shape of a pool that Kysely's PostgresDialect asks for. */
class ReadPool implements PostgresPool {
  readonly #hosts: Hosts
  readonly #max: number
  readonly #clients = new WeakMap<pg.PoolClient, ReadClient>()
  #pool: pg.Pool | null = null
  #url = ''

  constructor(hosts: Hosts, max: number) {
    this.#hosts = hosts
    this.#max = max
  }

  async connect(): Promise<PostgresPoolClient> {
    const pool = this.#pool?.idleCount ? this.#pool : await this.#poolOfPrimary()
    const client = await orStorageFailure(() => pool.connect())
    let wrapped = this.#clients.get(client)
    if (wrapped === undefined) {
      wrapped = new ReadClient(client)
      this.#clients.set(client, wrapped)
    }
    return wrapped as unknown as PostgresPoolClient
  }

  async end(): Promise<void> {
    await this.#pool?.end()
  }

  /** Asked where a connection would have to be opened: those that there are end with the server that they lead to. */
  async #poolOfPrimary(): Promise<pg.Pool> {
    const url = await orStorageFailure(() => this.#hosts.primary())
    if (this.#pool !== null && this.#url === url) return this.#pool
    const before = this.#pool
    const pool = new pg.Pool({ ...connectionConfig(), connectionString: url, max: this.#max })
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

class ReadClient {
  readonly #client: pg.PoolClient
  #broken = false

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  async query(text: string, values: readonly unknown[]): Promise<Result> {
    try {
      return await execute(this.#client, text, values)
    } catch (error) {
      if (!isUsableAfter(error) || isPlanChanged(error)) this.#broken = true
      if (!isPlanChanged(error)) throw error
      return orStorageFailure(() => this.#client.query({ text, values: [...values] }))
    }
  }

  release(): void {
    this.#client.release(this.#broken)
  }
}
