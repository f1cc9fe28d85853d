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
  wrapStorageErrors,
} from './postgres.ts'
import type { Hosts } from './postgres-hosts.ts'

/** Advisory lock that the writing node holds. The number is arbitrary: the ASCII codes of "csgn". */
const WRITER_LOCK = 0x6373676e

/** The channel of `NOTIFY` on which nodes announce their writes. */
export const NOTIFY_CHANNEL = 'countersign'

/**
 * Begins a write transaction. `read committed`, whatever the server's default: a snapshot taken before the lock would miss
 * what the previous writer has committed.
 */
export const BEGIN = `begin isolation level read committed read write;
select pg_advisory_xact_lock(${WRITER_LOCK})`
const LAST = 'select coalesce(max(seq), 0) as last from events'

/** How long to find out the outcome of a commit in which the connection was lost. */
const RESOLVE_TIMEOUT_MS = 8_000
const RETRY_MS = 200
/** How long the marks of nodes stay that have ended without deleting them. */
const MARK_MAX_AGE_MS = 24 * 3_600_000

/** The write connection of a node. If it is lost, the next transaction opens another. */
export class PostgresWriter implements Writer {
  readonly db: Db
  readonly #hosts: Hosts
  readonly #node = randomUUID()
  #mark = 0
  #client: pg.Client | null = null
  #warnings: string[] = []
  /** A migration has made a prepared statement unusable. */
  #isOutdated = false

  constructor(hosts: Hosts) {
    this.#hosts = hosts
    this.db = kyselyOver((text, values) => this.#guarded((client) => execute(client, text, values)))
  }

  get isLost(): boolean {
    return this.#client === null
  }

  /** The server's process ID of the connection. Notifications carry it, so a node recognizes its own. */
  get processId(): number | null {
    return (this.#client as { processID?: number } | null)?.processID ?? null
  }

  async begin(): Promise<number> {
    if (this.#isOutdated || this.#isStale) await this.#disconnect()
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
    const old = `delete from commit_marks where node = '${this.#node}' or at < ${Date.now() - MARK_MAX_AGE_MS}`
    if (this.#mark > 0) await this.#guarded((client) => executeScript(client, old)).catch(() => {})
    await this.#disconnect()
  }

  /** In one round trip: records this node's commit number, notifies the other nodes, and commits. */
  async #commitMarked(): Promise<void> {
    this.#warnings = []
    this.#mark += 1
    const script = `insert into commit_marks (node, mark, at) values ('${this.#node}', ${this.#mark}, ${Date.now()})
      on conflict (node) do update set mark = excluded.mark, at = excluded.at;
      notify ${NOTIFY_CHANNEL}; commit`
    const results = await this.#guarded((client) => executeScript(client, script))
    // If a statement has failed, PostgreSQL answers COMMIT with ROLLBACK, not with an error.
    if (results.at(-1)?.command !== 'COMMIT') throw new StorageFailure('It was rolled back.')
    if (this.#warnings.length === 0) return
    // "canceling wait for synchronous replication": committed on the primary, perhaps on no standby.
    throw new UnknownOutcome(`Committed with a warning: ${this.#warnings.join('; ')}`)
  }

  /**
   * Whether the transaction with a commit number was committed. Waits for the writer lock, which the server releases when it
   * notices the lost connection. Then commits again: once that commit is durable, so is the earlier one.
   * @throws UnknownOutcome if the database does not answer in time
   */
  async #wasCommitted(mark: number, cause: unknown): Promise<boolean> {
    const deadline = performance.now() + RESOLVE_TIMEOUT_MS
    for (;;) {
      try {
        await this.begin()
        const select = `select mark from commit_marks where node = '${this.#node}'`
        const [found] = await this.#guarded((client) => executeScript(client, select))
        await this.#commitMarked()
        return found?.rows[0]?.mark === mark
      } catch (error) {
        // The loss may have hit this second commit, which would overwrite the mark. Then the outcome stays unknown.
        if (!this.isLost || this.#mark > mark || performance.now() > deadline)
          throw new UnknownOutcome('The connection was lost in a commit.', { cause })
        if (error instanceof UnknownOutcome) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  /** Another server has become the primary, or another connection was lost since this one last responded. */
  get #isStale(): boolean {
    return this.#client !== null && !this.#hosts.isCurrent(this.#client)
  }

  async #connect(): Promise<pg.Client> {
    // Pipelining sends statements without waiting for earlier results. Never send the same text twice at once: if the
    // server rejects the first, it does not know the prepared statement that the second refers to.
    const client = await connectPrimary(this.#hosts, { pipeline: true })
    client.on('error', () => this.#forget(client))
    client.on('end', () => this.#forget(client))
    client.on('notice', (notice) => {
      if (isWarning(notice)) this.#warnings.push(notice.message ?? '')
    })
    await wrapStorageErrors(() => client.query(ENFORCE_SYNC_COMMIT)).catch((error) => {
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

  /** Drops the connection after an error that makes it unusable, so that no statement runs outside a transaction. */
  async #guarded<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = this.#client
    if (client === null) throw new StorageFailure('The connection was lost.')
    try {
      const result = await work(client)
      this.#hosts.recordResponse(client)
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

/** Raises `synchronous_commit` from `off`, so that a commit is on disk before it is acknowledged. Keeps stricter settings. */
export const ENFORCE_SYNC_COMMIT = `select set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end, false)`

/**
 * Whether a notice casts doubt on a commit. Goes by the SQLSTATE, since the severity is in the server's language; class 00
 * is no warning. A full notification queue does not affect the commit.
 */
export function isWarning({ code, routine }: Pick<pg.DatabaseError, 'code' | 'routine'>): boolean {
  return !code?.startsWith('00') && routine !== 'asyncQueueFillWarning'
}
