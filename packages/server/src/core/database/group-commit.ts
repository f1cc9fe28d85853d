import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CompiledQuery, CompiledQuery as Query } from 'kysely'
import {
  type Batch,
  type Db,
  type Outcome,
  StorageFailure,
  type Tx,
  UnknownOutcome,
} from './database.ts'
import type { TransactionEnd } from './stats.ts'

/** One transaction carries at most this many writes, so that a burst does not hold the loop for long. */
const LARGEST_GROUP = 256

const SAVEPOINT = Query.raw('savepoint w')
const RELEASE = Query.raw('release w')
const ROLLBACK_TO = Query.raw('rollback to w')

/** A connection that nothing else uses, and one transaction at a time in it. */
export interface Writer {
  /** Works in the transaction that has been begun, and nowhere else. */
  readonly db: Db
  /**
   * Begins a transaction. No other that writes runs beside it, in any process.
   * @returns the number of the last event
   */
  begin(): Promise<number>
  /**
   * Ends it. Once it resolves, what was done is durable.
   * @throws UnknownOutcome where it may have been committed
   */
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Whether the connection is gone, and the transaction with it. */
  readonly isLost: boolean
}

interface Write {
  run(tx: Tx): Promise<unknown>
  /** What it may be done together with. */
  together: { batch: Batch<unknown, unknown>; item: unknown } | null
  settle: { resolve(value: unknown): void; reject(error: unknown): void }
}

/**
 * Commits writes that arrive together in one transaction: a commit waits for the disk, so that 64 of them cost
 * little more than one. A write that throws undoes only itself, and none is answered before the commit.
 */
export class GroupCommit {
  readonly #writer: Writer
  readonly #committed: () => Promise<void>
  readonly #ended: ((end: TransactionEnd) => void)[] = []
  #waiting = 0
  #queue: Write[] = []
  #draining: Promise<void> | null = null
  #isClosed = false

  /** @param committed called after each commit, before its writes are answered */
  constructor(writer: Writer, committed: () => Promise<void>) {
    this.#writer = writer
    this.#committed = committed
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#ask<T>({ run: work, together: null })
  }

  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T> {
    const run = async (tx: Tx) => unwrap((await batch(tx, [item]))[0] as Outcome<T>)
    return this.#ask<T>({ run, together: { batch: batch as Batch<unknown, unknown>, item } })
  }

  /** How many writes have been asked for and not answered. */
  get waiting(): number {
    return this.#waiting
  }

  onTransaction(listener: (end: TransactionEnd) => void): void {
    this.#ended.push(listener)
  }

  #ask<T>(write: Omit<Write, 'settle'>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StorageFailure('The database is closed.'))
    return new Promise<T>((resolve, reject) => {
      this.#waiting += 1
      this.#queue.push({ ...write, settle: { resolve: resolve as (v: unknown) => void, reject } })
      this.#draining ??= this.#drain()
    })
  }

  /** Takes no more writes, and resolves when every one asked for so far has been answered. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#draining
  }

  async #drain(): Promise<void> {
    do {
      await nextTurn()
      const answered = await this.#carryOut()
      this.#waiting -= answered
    } while (this.#queue.length > 0)
    this.#draining = null
  }

  /** @returns how many writes have been answered */
  async #carryOut(): Promise<number> {
    const began = performance.now()
    const group: Write[] = []
    const outcomes = await this.#transact(group).catch((error) => {
      // It could not begin: those who wait would learn no better by waiting on.
      if (group.length === 0) group.push(...this.#queue.splice(0))
      const failure =
        error instanceof UnknownOutcome
          ? error
          : new StorageFailure('The commit failed.', { cause: error })
      for (const { settle } of group) settle.reject(failure)
      this.#tell(failure instanceof UnknownOutcome ? 'unknown' : 'failed', group.length, 0, began)
      return null
    })
    if (outcomes === null) return group.length
    const undone = outcomes.filter((outcome) => 'error' in outcome).length
    this.#tell(undone < group.length ? 'committed' : 'undone', group.length, undone, began)
    await this.#committed()
    for (const [i, outcome] of outcomes.entries()) answer(group[i] as Write, outcome)
    return group.length
  }

  #tell(end: TransactionEnd['end'], writes: number, undone: number, began: number): void {
    const seconds = (performance.now() - began) / 1000
    for (const listener of this.#ended) listener({ end, writes, undone, seconds })
  }

  /**
   * Most groups have no write that throws, and savepoints cost a quarter of a write: they come at the second try.
   * @param group takes those who wait once a transaction has begun, so that who came while it did comes along
   */
  async #transact(group: Write[]): Promise<Outcome<unknown>[]> {
    try {
      return await this.#transaction((sequence) => {
        group.push(...this.#queue.splice(0, LARGEST_GROUP))
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
      // Where each has been undone there is nothing to wait for the disk for.
      if (outcomes.every((outcome) => 'error' in outcome)) await this.#writer.rollback()
      else await this.#writer.commit()
      return outcomes
    } catch (error) {
      await this.#writer.rollback().catch(() => undefined)
      throw error
    }
  }

  /** @throws WriteThrew where one of them throws */
  async #runAll(group: readonly Write[], sequence: Sequence): Promise<Outcome<unknown>[]> {
    const outcomes: Outcome<unknown>[] = []
    const tx = this.#txOf(sequence)
    try {
      while (outcomes.length < group.length) {
        const run = sameKind(group, outcomes.length)
        const [first] = run as [Write]
        if (first.together === null) outcomes.push({ value: await first.run(tx) })
        else outcomes.push(...(await first.together.batch(tx, run.map(itemOf))))
      }
    } catch (error) {
      throw new WriteThrew('a write threw', { cause: error })
    }
    return outcomes
  }

  /** Each write in a savepoint of its own, so that one that throws undoes only itself. */
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
    return { db: this.#writer.db, nextSeq: () => sequence.next() }
  }

  #execute(query: CompiledQuery): Promise<unknown> {
    return this.#writer.db.executeQuery(query)
  }
}

/** The write at a place and those right after it that may be done together with it. */
function sameKind(group: readonly Write[], from: number): readonly Write[] {
  const batch = group[from]?.together?.batch
  let to = from + 1
  while (batch !== undefined && group[to]?.together?.batch === batch) to += 1
  return group.slice(from, to)
}

function unwrap<T>(outcome: Outcome<T>): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

function itemOf(write: Write): unknown {
  return write.together?.item
}

/** Tells a write that threw from a transaction that failed. */
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

function answer(write: Write, outcome: Outcome<unknown>): void {
  if ('error' in outcome) write.settle.reject(outcome.error)
  else write.settle.resolve(outcome.value)
}
