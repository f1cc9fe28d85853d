import { AsyncLocalStorage } from 'node:async_hooks'
import type { Batch, Database, Db, Tx } from './database.ts'
import type { Tables } from './schema/tables.ts'
import type { ConnectionStats, DatabaseState, TransactionEnd } from './stats.ts'

/** Runs first in the transaction of a write, which is rolled back if it throws. */
export type WriteCheck = (tx: Tx) => Promise<void>

/** Writes of a request that are checked again in their transaction, since what allowed the request may have ended meanwhile. */
export class CheckedWrites {
  readonly #current = new AsyncLocalStorage<{ check: WriteCheck | null } | null>()

  /** Runs the handling of a request, whose writes are checked once `require` has said by what. */
  run(handle: () => void): void {
    this.#current.run({ check: null }, handle)
  }

  /** @throws Error outside of `run` */
  require(check: WriteCheck): void {
    const store = this.#current.getStore()
    if (store == null)
      throw new Error('a write to be checked, outside of the handling of a request')
    store.check = check
  }

  /** A database whose writes are checked, if the current request asks for it. */
  guard(db: Database): Database {
    return new GuardedDatabase(
      db,
      () => this.#current.getStore()?.check ?? null,
      // The commit runs other writes too, and what listens to commits: none of it belongs to this request.
      (work) => this.#current.run(null, work),
    )
  }
}

class GuardedDatabase implements Database {
  readonly #db: Database
  readonly #currentCheck: () => WriteCheck | null
  readonly #outside: <T>(work: () => T) => T

  constructor(
    db: Database,
    currentCheck: () => WriteCheck | null,
    outside: <T>(work: () => T) => T,
  ) {
    this.#db = db
    this.#currentCheck = currentCheck
    this.#outside = outside
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const check = this.#currentCheck()
    if (check === null) return this.#outside(() => this.#db.write(work))
    return this.#outside(() =>
      this.#db.write(async (tx) => {
        await check(tx)
        return work(tx)
      }),
    )
  }

  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    if (this.#currentCheck() !== null) throw new Error('a batch cannot be checked for one request')
    return this.#outside(() => this.#db.writeBatched(batch, item))
  }

  get read(): Db {
    return this.#db.read
  }

  get pointReads(): Db {
    return this.#db.pointReads
  }

  get eventReader(): Db {
    return this.#db.eventReader
  }

  removeDeleted(tables: readonly (keyof Tables)[]): Promise<boolean> {
    return this.#db.removeDeleted(tables)
  }

  get connections(): ConnectionStats | null {
    return this.#db.connections
  }

  get waitingWrites(): number {
    return this.#db.waitingWrites
  }

  onTransaction(listener: (end: TransactionEnd) => void): void {
    this.#db.onTransaction(listener)
  }

  onCommit(listener: () => Promise<void>): void {
    this.#db.onCommit(listener)
  }

  mayHaveExternalWrites(): boolean {
    return this.#db.mayHaveExternalWrites()
  }

  onExternalWrite(listener: () => void): void {
    this.#db.onExternalWrite(listener)
  }

  check(): Promise<void> {
    return this.#db.check()
  }

  state(): Promise<DatabaseState> {
    return this.#db.state()
  }

  close(): Promise<void> {
    return this.#db.close()
  }
}
