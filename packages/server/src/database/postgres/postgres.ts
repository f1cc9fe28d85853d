import type { Socket } from 'node:net'
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { StorageFailure, type Tables } from '../database.ts'
import type { Hosts } from './postgres-hosts.ts'

/** Timeout for connecting and for each query, including the wait for the writer lock. */
const TIMEOUT_MS = 10_000

/** A node that hangs in a transaction blocks all other writers, so the server ends its session. */
const IDLE_IN_TRANSACTION_MS = 5_000

/** More than the service has statements. A bound, in case a statement is ever built from input. */
const MAX_PREPARED_STATEMENTS = 500

/** How long a server may take to close a connection. */
const CLOSE_TIMEOUT_MS = 1000

/** After this idle time, TCP keep-alive probes the connection. */
const KEEP_ALIVE_MS = 10_000

/** Type OIDs (pg_type). */
const INT8 = 20
const BYTEA = 17

/**
 * Connects to the primary.
 * @param changes overrides of `connectionConfig`
 * @throws StorageFailure
 */
export async function connectPrimary(
  hosts: Hosts,
  changes: pg.ClientConfig = {},
): Promise<pg.Client> {
  const connectionString = await wrapStorageErrors(() => hosts.primary())
  const client = new pg.Client({ ...connectionConfig(), connectionString, ...changes })
  // A lost connection shows in the current or the next query.
  client.on('error', () => undefined)
  try {
    await wrapStorageErrors(() => client.connect())
    await wrapStorageErrors(() => hosts.admit(client))
    return client
  } catch (error) {
    void endClient(client)
    throw error
  }
}

/** Closes a connection. Destroys the socket if the server does not close it in time. */
export async function endClient(client: pg.Client): Promise<void> {
  forceAfterGoodbye(client)
  await client.end().catch(() => undefined)
}

/** For pools, which close connections themselves and would wait for a hanging server. */
export class ForceClosingClient extends pg.Client {
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
  const timer = setTimeout(() => stream.destroy(), CLOSE_TIMEOUT_MS).unref()
  stream.once('close', () => clearTimeout(timer))
}

/** Options of every connection, with its type parsers. pg's global settings stay untouched. */
export function connectionConfig(): pg.ClientConfig {
  return {
    application_name: 'countersign',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    lock_timeout: TIMEOUT_MS - 1000,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
  }
}

function parserOf(oid: number, format?: 'text' | 'binary') {
  if (format !== 'binary' && oid === INT8) return safeInteger
  if (format !== 'binary' && oid === BYTEA) return bytesOf
  return pg.types.getTypeParser(oid, format as 'text')
}

/** Times, sequence numbers and counts are all below 2^53. */
function safeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error('a number in the database is too large')
  return value
}

/** PostgreSQL sends `bytea` as `\x` and hexadecimal. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'))
}

const names = new Map<string, string>()

/** The name of a prepared statement, or undefined if there are too many. */
function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= MAX_PREPARED_STATEMENTS) return known
  const name = `cs${names.size}`
  names.set(text, name)
  return name
}

export type Result = pg.QueryResult<Record<string, unknown>>

/**
 * Executes a statement. One with parameters is prepared once for each connection.
 * @throws pg.DatabaseError for constraint violations and other errors of the statement
 * @throws StorageFailure for anything else
 */
export async function execute(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[],
): Promise<Result> {
  const plain = { text, values: [...values] }
  if (values.length === 0) return wrapStorageErrors(() => client.query(text))
  const name = nameOf(text)
  if (name === undefined) return wrapStorageErrors(() => client.query(plain))
  return wrapStorageErrors(() => client.query({ ...plain, name }))
}

/** Executes several statements without parameters in one round trip. @returns the result of each */
export async function executeScript(client: pg.ClientBase, text: string): Promise<Result[]> {
  const results = await wrapStorageErrors(() => client.query(text))
  return Array.isArray(results) ? results : [results]
}

/** SQLSTATE classes of errors of the statement itself: data, constraints, syntax (PostgreSQL, appendix A). */
const STATEMENT_ERRORS = /^(?:0A|21|22|23|25P02|42)/
/** SQLSTATE after a migration has changed a table that a prepared statement of this connection reads. */
const PLAN_CHANGED = '0A000'

/** @throws StorageFailure for any error that is not an error of the statement itself */
export async function wrapStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StorageFailure) throw error
    if (error instanceof pg.DatabaseError && STATEMENT_ERRORS.test(error.code ?? '')) {
      if (error.code !== PLAN_CHANGED) throw error
    }
    throw new StorageFailure('The database failed.', { cause: error })
  }
}

/** Whether a migration, perhaps of a newer node, has made a prepared statement of this connection unusable. */
export function isPlanChanged(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error
  return cause instanceof pg.DatabaseError && cause.code === PLAN_CHANGED
}

/** Whether a query has timed out. pg has no code for it, only a message. */
export function isQueryTimeout(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error
  return cause instanceof Error && cause.message === 'Query read timeout'
}

/**
 * SQLSTATEs of errors that leave the connection usable. The severity would say so too, but in the server's language.
 * Excludes 25006 (read-only: not the primary) and 25P03 and 25P04 (the server has ended an idle session).
 */
const USABLE_AFTER =
  /^(?:0A|2[1-4]|25(?!006|P03|P04)|2[BDF]|3[489B]|40|42|44|53(?!300)|54|55|57014|P0)/

/** Whether the connection is usable after an error. */
export function isUsableAfter(error: unknown): boolean {
  const cause = error instanceof StorageFailure ? error.cause : error
  return cause instanceof pg.DatabaseError && USABLE_AFTER.test(cause.code ?? '')
}

/** Kysely over a function that executes one statement at a time. */
export function kyselyOver(
  run: (text: string, values: readonly unknown[]) => Promise<Result>,
): Kysely<Tables> {
  const client = { query: run, release() {} } as unknown as PostgresPoolClient
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect: async () => client, end: async () => {} } }),
  })
}
