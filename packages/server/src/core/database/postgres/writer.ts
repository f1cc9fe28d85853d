import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type Db, StorageFailure, UnknownOutcome } from '../database.ts'
import type { Writer } from '../group-commit.ts'
import {
  connectPrimary,
  endClient,
  execute,
  executeScript,
  isPlanChanged,
  isUsableAfter,
  kyselyOver,
  orStorageFailure,
} from './postgres.ts'
import type { Hosts } from './postgres-hosts.ts'

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
const LAST = 'select coalesce(max(seq), 0) as last from events'

/** How long, after a connection was lost in a commit, is tried to find out what became of it. */
const RESOLVE_MS = 8_000
const RETRY_MS = 200
/** The marks of nodes that have ended without a word. */
const MARKS_KEPT_MS = 24 * 3_600_000

/** The connection in which a node writes. Where it is lost, the next transaction opens another. */
export class PostgresWriter implements Writer {
  readonly db: Db
  readonly #hosts: Hosts
  readonly #node = randomUUID()
  #mark = 0
  #client: pg.Client | null = null
  #warnings: string[] = []
  /** What it has prepared fits the tables no more. */
  #isOutdated = false

  constructor(hosts: Hosts) {
    this.#hosts = hosts
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
    if (this.#isOutdated || this.#isDoubtful) await this.#disconnect()
    this.#client ??= await this.#connect()
    this.#isOutdated = false
    const results = await this.#guarded((client) => executeScript(client, `${BEGIN};\n${LAST}`))
    return results.at(-1)?.rows[0]?.last as number
  }

  async commit(): Promise<void> {
    try {
      await this.#commitMarked()
    } catch (error) {
      if (!this.isLost) throw error
      if (!(await this.#wasCommitted(this.#mark, error)))
        throw new StorageFailure('The connection was lost before the commit.', { cause: error })
    }
  }

  async rollback(): Promise<void> {
    if (this.#client !== null) await this.#guarded((client) => executeScript(client, 'rollback'))
  }

  async close(): Promise<void> {
    const old = `delete from commit_marks where node = '${this.#node}' or at < ${Date.now() - MARKS_KEPT_MS}`
    if (this.#mark > 0) await this.#guarded((client) => executeScript(client, old)).catch(() => {})
    await this.#disconnect()
  }

  /** One round trip: what this node has committed last, a hint to the others, and the commit. */
  async #commitMarked(): Promise<void> {
    this.#warnings = []
    this.#mark += 1
    const script = `insert into commit_marks (node, mark, at) values ('${this.#node}', ${this.#mark}, ${Date.now()})
      on conflict (node) do update set mark = excluded.mark, at = excluded.at;
      notify ${CHANNEL}; commit`
    const results = await this.#guarded((client) => executeScript(client, script))
    // A transaction in which a statement has failed is rolled back, and that is no error.
    if (results.at(-1)?.command !== 'COMMIT') throw new StorageFailure('It was rolled back.')
    if (this.#warnings.length === 0) return
    // "canceling wait for synchronous replication": it is committed here, and perhaps nowhere else.
    throw new UnknownOutcome(`Committed with a warning: ${this.#warnings.join('; ')}`)
  }

  /**
   * Whether the transaction with a mark was committed. The lock is had once the server has ended the lost connection;
   * a commit after that one is durable only where that one is.
   * @throws UnknownOutcome where the database does not say in time
   */
  async #wasCommitted(mark: number, cause: unknown): Promise<boolean> {
    const deadline = performance.now() + RESOLVE_MS
    for (;;) {
      try {
        await this.begin()
        const select = `select mark from commit_marks where node = '${this.#node}'`
        const [found] = await this.#guarded((client) => executeScript(client, select))
        await this.#commitMarked()
        return found?.rows[0]?.mark === mark
      } catch (error) {
        // It may have been this commit that went through: a mark that is not known is no answer.
        if (!this.isLost || this.#mark > mark || performance.now() > deadline)
          throw new UnknownOutcome('The connection was lost in a commit.', { cause })
        if (error instanceof UnknownOutcome) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  /** Another server has become the primary, or other connections were lost since this one was used. */
  get #isDoubtful(): boolean {
    return this.#client !== null && !this.#hosts.isCurrent(this.#client)
  }

  async #connect(): Promise<pg.Client> {
    // Statements that do not wait for one another are on their way together; of one text one at a time: where the first
    // is refused, the server does not know the second by its name.
    const client = await connectPrimary(this.#hosts, { pipeline: true })
    client.on('error', () => this.#forget(client))
    client.on('end', () => this.#forget(client))
    client.on('notice', (notice) => {
      if (isWarning(notice)) this.#warnings.push(notice.message ?? '')
    })
    await orStorageFailure(() => client.query(DURABLE)).catch((error) => {
      void endClient(client)
      throw error
    })
    return client
  }

  async #disconnect(): Promise<void> {
    const client = this.#client
    this.#client = null
    if (client !== null) await endClient(client)
  }

  /** Forgets the connection where it cannot go on: nothing is ever executed outside of a transaction. */
  async #guarded<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = this.#client
    if (client === null) throw new StorageFailure('The connection was lost.')
    try {
      const result = await work(client)
      this.#hosts.heard(client)
      return result
    } catch (error) {
      this.#isOutdated ||= isPlanChanged(error)
      if (!isUsableAfter(error)) {
        this.#forget(client)
        void endClient(client)
      }
      throw error
    }
  }

  #forget(client: pg.Client): void {
    if (this.#client === client) this.#client = null
  }
}

/** Whatever the server's default is: what is answered has to be on its disk. A stricter setting stays. */
export const DURABLE = `select set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end, false)`

/**
 * Whether the server warns. The severity is told in its own language: the code is not, and class 00 is no warning. That
 * the queue of notifications fills up says nothing of a commit.
 */
export function isWarning({ code, routine }: Pick<pg.DatabaseError, 'code' | 'routine'>): boolean {
  return !code?.startsWith('00') && routine !== 'asyncQueueFillWarning'
}
