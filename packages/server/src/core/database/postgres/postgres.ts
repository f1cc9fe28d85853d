import type { Socket } from 'node:net'
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { StorageFailure, type Tables } from '../database.ts'
import type { Hosts } from './postgres-hosts.ts'

/** A server that does not answer is given up after so long; other nodes that write are waited for as long. */
const PATIENCE_MS = 10_000

/** A node that stands still in the middle of a transaction holds all the others up: the server ends it. */
const IDLE_IN_TRANSACTION_MS = 5_000

/** Enough for every statement that this code knows, and a bound should one ever be built from input. */
const STATEMENT_NAMES = 500

/** How long a server may take to end a connection. */
const GOODBYE_MS = 1000

/** A connection over which nothing has come for so long is asked after by the system. */
const KEEP_ALIVE_MS = 10_000

const INT8 = 20
const BYTEA = 17

/**
 * A connection to the primary.
 * @param changes to how it is opened
 * @throws StorageFailure where there is none
 */
export async function connectPrimary(
  hosts: Hosts,
  changes: pg.ClientConfig = {},
): Promise<pg.Client> {
  const connectionString = await orStorageFailure(() => hosts.primary())
  const client = new pg.Client({ ...connectionConfig(), connectionString, ...changes })
  // Told by the statement that is under way, or by the next one.
  client.on('error', () => undefined)
  try {
    await orStorageFailure(() => client.connect())
    await orStorageFailure(() => hosts.admit(client))
    return client
  } catch (error) {
    void endClient(client)
    throw error
  }
}

/** Ends a connection; where its server does not answer, by force. */
export async function endClient(client: pg.Client): Promise<void> {
  forceAfterGoodbye(client)
  await client.end().catch(() => undefined)
}

/** For pools, which end connections by themselves, and would wait for servers that stand still. */
export class EndingClient extends pg.Client {
  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | void {
    forceAfterGoodbye(this)
    return callback === undefined ? super.end() : super.end(callback)
  }
}

function forceAfterGoodbye(client: pg.Client): void {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: Socket } })
    .connection
  const timer = setTimeout(() => stream.destroy(), GOODBYE_MS).unref()
  stream.once('close', () => clearTimeout(timer))
}

/** How connections are opened, and how values come back. Only here: nothing is set for all of pg. */
export function connectionConfig(): pg.ClientConfig {
  return {
    application_name: 'countersign',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
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

/** Whether a statement was given up because its answer took too long: pg says so in words alone. */
export function isSlow(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error
  return cause instanceof Error && cause.message === 'Query read timeout'
}

/**
 * What ends a statement and not the connection, by its code: the severity is told in the server's own language. Not 25006,
 * read-only: this was the primary once, or has never been; nor what ends a session that stood still (25P03, 25P04).
 */
const USABLE = /^(?:0A|2[1-4]|25(?!006|P03|P04)|2[BDF]|3[489B]|40|42|44|53(?!300)|54|55|57014|P0)/

/** Whether an error leaves a connection that can go on. */
export function isUsableAfter(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error
  return cause instanceof pg.DatabaseError && USABLE.test(cause.code ?? '')
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
