import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CompiledQuery, CompiledQuery as Query } from 'kysely'
import { type Db, StorageFailure, type Tx } from './database.ts'
import { lastSeq } from './events.ts'

/** One transaction carries at most this many writes, so that a burst does not hold the loop for long. */
const LARGEST_GROUP = 256

const BEGIN = Query.raw('begin immediate')
const COMMIT = Query.raw('commit')
const ROLLBACK = Query.raw('rollback')
const SAVEPOINT = Query.raw('savepoint w')
const RELEASE = Query.raw('release w')
const ROLLBACK_TO = Query.raw('rollback to w')

interface Write {
  run(tx: Tx): Promise<unknown>
  settle: { resolve(value: unknown): void; reject(error: unknown): void }
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

/**
 * Commits writes that arrive together in one transaction: a commit waits for the disk, so that 64 of them cost
 * little more than one. Each write has a savepoint of its own and is answered after the commit.
 */
export class GroupCommit {
  readonly #db: Db
  readonly #committed: () => Promise<void>
  #queue: Write[] = []
  #draining: Promise<void> | null = null

  /**
   * @param db a connection that nothing else uses
   * @param committed called after each commit, before its writes are answered
   */
  constructor(db: Db, committed: () => Promise<void>) {
    this.#db = db
    this.#committed = committed
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run: work, settle: { resolve: resolve as (v: unknown) => void, reject } })
      this.#draining ??= this.#drain()
    })
  }

  /** Resolves when every write asked for so far has been answered. */
  async idle(): Promise<void> {
    await this.#draining
  }

  async #drain(): Promise<void> {
    do {
      await nextTurn()
      await this.#commitGroup(this.#queue.splice(0, LARGEST_GROUP))
    } while (this.#queue.length > 0)
    this.#draining = null
  }

  async #commitGroup(group: readonly Write[]): Promise<void> {
    const outcomes: Outcome[] = []
    try {
      await this.#execute(BEGIN)
      const sequence = new Sequence(await lastSeq(this.#db))
      for (const write of group) outcomes.push(await this.#runOne(write, sequence))
      await this.#execute(COMMIT)
    } catch (error) {
      await this.#execute(ROLLBACK).catch(() => undefined)
      const failure = new StorageFailure('The commit failed.', { cause: error })
      for (const { settle } of group) settle.reject(failure)
      return
    }
    await this.#committed()
    for (const [i, outcome] of outcomes.entries()) answer(group[i] as Write, outcome)
  }

  async #runOne(write: Write, sequence: Sequence): Promise<Outcome> {
    const before = sequence.last
    await this.#execute(SAVEPOINT)
    try {
      const value = await write.run({ db: this.#db, nextSeq: () => sequence.next() })
      await this.#execute(RELEASE)
      return { value }
    } catch (error) {
      await this.#execute(ROLLBACK_TO)
      await this.#execute(RELEASE)
      sequence.last = before
      return { error }
    }
  }

  #execute(query: CompiledQuery): Promise<unknown> {
    return this.#db.executeQuery(query)
  }
}

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

function answer(write: Write, outcome: Outcome): void {
  if ('error' in outcome) write.settle.reject(outcome.error)
  else write.settle.resolve(outcome.value)
}
