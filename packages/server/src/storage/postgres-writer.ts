import pg from 'pg'
import { type Db, StorageFailure, UnknownOutcome } from './database.ts'
import type { Writer } from './group-commit.ts'
import {
  connectionConfig,
  execute,
  executeScript,
  isPlanChanged,
  isUsableAfter,
  kyselyOver,
  orStorageFailure,
} from './postgres.ts'

/** Whoever holds it writes; every node asks for the same one. The number is arbitrary, the ASCII of "csgn". */
const WRITER_LOCK = 0x6373676e

/** Where nodes tell one another that they have written. */
export const CHANNEL = 'countersign'

/**
 * Each statement of a script sees what was committed before it began, so that the last number is read under the lock.
 * Whatever the server's defaults are: a snapshot taken before the lock would miss what the one before has written.
 */
export const BEGIN = `begin isolation level read committed read write;
select pg_advisory_xact_lock(${WRITER_LOCK})`
const LAST = `select coalesce(max(seq), 0) as last from events`
const COMMIT = `notify ${CHANNEL}; commit`

/** The connection in which a node writes. Where it is lost, the next transaction opens another. */
export class PostgresWriter implements Writer {
  readonly db: Db
  readonly #url: string
  #client: pg.Client | null = null
  #warnings: string[] = []
  /** What it has prepared fits the tables no more. */
  #isOutdated = false

  constructor(url: string) {
    this.#url = url
    this.db = kyselyOver((text, values) => this.#guarded((client) => execute(client, text, values)))
  }

  get isLost(): boolean {
    return this.#client === null
  }

  /** The process at the server, by which notifications say whose they are. */
  get processId(): number | null {
    return (this.#client as { processID?: number } | null)?.processID ?? null
  }

  async begin(): Promise<number> {
    if (this.#isOutdated) await this.close()
    this.#client ??= await this.#connect()
    this.#isOutdated = false
    const results = await this.#guarded((client) => executeScript(client, `${BEGIN};\n${LAST}`))
    return results.at(-1)?.rows[0]?.last as number
  }

  async commit(): Promise<void> {
    this.#warnings = []
    const results = await this.#guarded((client) => executeScript(client, COMMIT)).catch(
      (error) => {
        if (!this.isLost) throw error
        throw new UnknownOutcome('The connection was lost in a commit.', { cause: error })
      },
    )
    // A transaction in which a statement has failed is rolled back, and that is no error.
    if (results.at(-1)?.command !== 'COMMIT') throw new StorageFailure('It was rolled back.')
    if (this.#warnings.length === 0) return
    // "canceling wait for synchronous replication": it is committed here, and perhaps nowhere else.
    throw new UnknownOutcome(`Committed with a warning: ${this.#warnings.join('; ')}`)
  }

  async rollback(): Promise<void> {
    if (this.#client !== null) await this.#guarded((client) => executeScript(client, 'rollback'))
  }

  async close(): Promise<void> {
    await this.#client?.end()
    this.#client = null
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client(connectionConfig(this.#url))
    client.on('error', () => this.#forget(client))
    client.on('end', () => this.#forget(client))
    client.on('notice', (notice) => {
      if (notice.severity === 'WARNING') this.#warnings.push(notice.message ?? '')
    })
    await orStorageFailure(() => client.connect()).catch((error) => {
      client.end().catch(() => undefined)
      throw error
    })
    return client
  }

  /** Forgets the connection where it cannot go on: nothing is ever executed outside of a transaction. */
  async #guarded<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = this.#client
    if (client === null) throw new StorageFailure('The connection was lost.')
    try {
      return await work(client)
    } catch (error) {
      this.#isOutdated ||= isPlanChanged(error)
      if (!isUsableAfter(error)) {
        this.#forget(client)
        client.end().catch(() => undefined)
      }
      throw error
    }
  }

  #forget(client: pg.Client): void {
    if (this.#client === client) this.#client = null
  }
}
