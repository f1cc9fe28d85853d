import { type CompiledQuery, CompiledQuery as Query } from 'kysely'
import { deferWork } from '../base/loop-turn.ts'
import {
  type Batch,
  type Db,
  type Effects,
  type Outcome,
  StorageFailure,
  type Tx,
  UnknownOutcome,
} from './database.ts'
import type { TransactionEnd } from './stats.ts'

/** Bounds how long one transaction occupies the event loop during a burst. */
const MAX_WRITES_PER_TRANSACTION = 256

const SAVEPOINT = Query.raw('savepoint w')
const RELEASE = Query.raw('release w')
const ROLLBACK_TO = Query.raw('rollback to w')

/** A connection for write transactions, one at a time. Only GroupCommit uses it. */
export interface Writer {
  /** Executes statements in the current transaction. */
  readonly db: Db
  /**
   * Begins a transaction, after the write transactions of all other processes have ended.
   * @returns the sequence number of the last event
   */
  begin(): Promise<number>
  /**
   * Commits the transaction. Its changes are durable once this resolves.
   * @throws UnknownOutcome if it may or may not have been committed
   */
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Whether the connection was lost, and with it the transaction. */
  readonly isLost: boolean
}

interface Write {
  run(tx: Tx): Promise<unknown>
  /** Set for a write that may run together with the others of its batch. */
  batched: { batch: Batch<unknown, unknown>; item: unknown } | null
  deferred: { resolve(value: unknown): void; reject(error: unknown): void }
}

/**
 * Commits writes that arrive together in one transaction. A commit waits for the disk, so 64 writes in one cost little
 * more than a single write. A write that throws rolls back only itself, and no write resolves before the commit.
 */
export class GroupCommit {
  readonly #writer: Writer
  readonly #effects: Effects
  readonly #onCommit: () => Promise<void>
  readonly #listeners: ((end: TransactionEnd) => void)[] = []
  #waiting = 0
  #queue: Write[] = []
  #pauses: (() => Promise<void>)[] = []
  #draining: Promise<void> | null = null
  #isClosed = false

  /** @param onCommit awaited after each commit, before its writes resolve */
  constructor(writer: Writer, effects: Effects, onCommit: () => Promise<void>) {
    this.#writer = writer
    this.#effects = effects
    this.#onCommit = onCommit
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#enqueue<T>({ run: work, batched: null })
  }

  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    const run = async (tx: Tx) => unwrap((await batch(tx, [item]))[0] as Outcome<T>)
    return this.#enqueue<T>({ run, batched: { batch: batch as Batch<unknown, unknown>, item } })
  }

  /** Runs `work` between two transactions: none is open on the writer's connection meanwhile. */
  between<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StorageFailure('The database is closed.'))
    return new Promise<T>((resolve, reject) => {
      this.#pauses.push(() => work().then(resolve, reject))
      this.#draining ??= this.#drain()
    })
  }

  /** Writes requested but not yet resolved. */
  get waiting(): number {
    return this.#waiting
  }

  onTransaction(listener: (end: TransactionEnd) => void): void {
    this.#listeners.push(listener)
  }

  #enqueue<T>(write: Omit<Write, 'deferred'>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StorageFailure('The database is closed.'))
    return new Promise<T>((resolve, reject) => {
      this.#waiting += 1
      this.#queue.push({ ...write, deferred: { resolve: resolve as (v: unknown) => void, reject } })
      this.#draining ??= this.#drain()
    })
  }

  /** Rejects new writes, and resolves when all earlier ones have. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#draining
  }

  async #drain(): Promise<void> {
    do {
      await new Promise<void>(deferWork)
      for (const run of this.#pauses.splice(0)) await run()
      if (this.#queue.length === 0) continue
      // In two statements: `-= await` would read the number before the wait, and lose the writes that arrive in it.
      const settled = await this.#commitGroup()
      this.#waiting -= settled
    } while (this.#queue.length + this.#pauses.length > 0)
    this.#draining = null
  }

  /** @returns how many writes it has settled */
  async #commitGroup(): Promise<number> {
    const began = performance.now()
    const group: Write[] = []
    const outcomes = await this.#transact(group).catch((error) => {
      // The transaction could not begin. Retrying for the writes that wait would most likely fail the same way.
      if (group.length === 0) group.push(...this.#queue.splice(0))
      const failure =
        error instanceof UnknownOutcome
          ? error
          : new StorageFailure('The commit failed.', { cause: error })
      for (const { deferred } of group) deferred.reject(failure)
      this.#report(failure instanceof UnknownOutcome ? 'unknown' : 'failed', group.length, 0, began)
      return null
    })
    if (outcomes === null) return group.length
    const undone = outcomes.filter((outcome) => 'error' in outcome).length
    this.#report(undone < group.length ? 'committed' : 'undone', group.length, undone, began)
    await this.#onCommit()
    for (const [i, outcome] of outcomes.entries()) settle(group[i] as Write, outcome)
    return group.length
  }

  #report(end: TransactionEnd['end'], writes: number, undone: number, began: number): void {
    const seconds = (performance.now() - began) / 1000
    for (const listener of this.#listeners) listener({ end, writes, undone, seconds })
  }

  /**
   * Runs without savepoints first: they cost a quarter of a write, and few writes throw. If one does, runs again with them.
   * @param group filled once the transaction has begun, so that it includes the writes that arrived meanwhile
   */
  async #transact(group: Write[]): Promise<Outcome<unknown>[]> {
    try {
      return await this.#transaction((sequence) => {
        group.push(...this.#queue.splice(0, MAX_WRITES_PER_TRANSACTION))
        return this.#runAll(group, sequence)
      })
    } catch (error) {
      if (!(error instanceof WriteThrew) || this.#writer.isLost) throw error
      return this.#transaction((sequence) => this.#runEach(group, sequence))
    }
  }

  async #transaction(
    work: (sequence: Sequence) => Promise<Outcome<unknown>[]>,
  ): Promise<Outcome<unknown>[]> {
    try {
      const outcomes = await work(new Sequence(await this.#writer.begin()))
      // If every write has thrown, there is nothing to commit.
      if (outcomes.every((outcome) => 'error' in outcome)) await this.#writer.rollback()
      else await this.#writer.commit()
      return outcomes
    } catch (error) {
      await this.#writer.rollback().catch(() => undefined)
      throw error
    }
  }

  /** @throws WriteThrew if any write throws */
  async #runAll(group: readonly Write[], sequence: Sequence): Promise<Outcome<unknown>[]> {
    const outcomes: Outcome<unknown>[] = []
    const tx = this.#txOf(sequence)
    try {
      while (outcomes.length < group.length) {
        const run = batchFrom(group, outcomes.length)
        const [first] = run as [Write]
        if (first.batched === null) outcomes.push({ value: await first.run(tx) })
        else outcomes.push(...(await first.batched.batch(tx, run.map(itemOf))))
      }
    } catch (error) {
      throw new WriteThrew('a write threw', { cause: error })
    }
    return outcomes
  }

  /** Runs each write in its own savepoint, so that one that throws rolls back only itself. */
  async #runEach(group: readonly Write[], sequence: Sequence): Promise<Outcome<unknown>[]> {
    const outcomes: Outcome<unknown>[] = []
    for (const write of group) {
      const before = sequence.last
      await this.#execute(SAVEPOINT)
      try {
        outcomes.push({ value: await write.run(this.#txOf(sequence)) })
      } catch (error) {
        await this.#execute(ROLLBACK_TO)
        sequence.last = before
        outcomes.push({ error })
      }
      await this.#execute(RELEASE)
    }
    return outcomes
  }

  #txOf(sequence: Sequence): Tx {
    return {
      db: this.#writer.db,
      nextSeq: () => sequence.next(),
      effects: this.#effects,
    }
  }

  #execute(query: CompiledQuery): Promise<unknown> {
    return this.#writer.db.executeQuery(query)
  }
}

/** The write at `from`, with the writes of the same batch that directly follow it. */
function batchFrom(group: readonly Write[], from: number): readonly Write[] {
  const batch = group[from]?.batched?.batch
  let to = from + 1
  while (batch !== undefined && group[to]?.batched?.batch === batch) to += 1
  return group.slice(from, to)
}

function unwrap<T>(outcome: Outcome<T>): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

function itemOf(write: Write): unknown {
  return write.batched?.item
}

/** Distinguishes a write that threw from a transaction that failed. */
class WriteThrew extends Error {}

class Sequence {
  last: number

  constructor(last: number) {
    this.last = last
  }

  next(): number {
    this.last += 1
    return this.last
  }
}

function settle(write: Write, outcome: Outcome<unknown>): void {
  if ('error' in outcome) write.deferred.reject(outcome.error)
  else write.deferred.resolve(outcome.value)
}
