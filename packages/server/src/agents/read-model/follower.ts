import { type Db, type EventRow, StorageFailure } from '../../database/database.ts'
import { eventsAfter, isSameEvent, lastSeq } from '../../database/event-table.ts'

const BATCH_SIZE = 1000

/** How long the read model may answer without having seen the writes of other nodes. */
export interface Staleness {
  readonly milliseconds: number
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number
}

/** Receives the events that a follower reads. */
export interface EventConsumer {
  apply(events: readonly EventRow[]): Promise<void>
  /** Called once `apply` has resolved. */
  onApplied(events: readonly EventRow[]): void
  /** Called if applied events are no longer in the database: a failover has lost them. */
  reset(): void
}

/**
 * Follows the event sequence. Each read includes the last applied event again. If that event is missing or different, a
 * failover has lost it, and everything derived from the events must be reset.
 */
export class EventFollower {
  readonly #db: Db
  /** Null if every read sees the writes of other processes or fails. */
  readonly #staleness: Staleness | null
  readonly #consumer: EventConsumer
  #last: EventRow | null = null
  #lastChange: EventRow | null = null
  #following: Promise<void> = Promise.resolve()
  /** A sync that is queued and has not begun: later callers share it. */
  #queuedSync: Promise<void> | null = null
  #catchingUp: Promise<void> | null = null
  #failure: unknown = null
  /** Start time of the last read that reached the end of the sequence. */
  #currentAt = Number.NEGATIVE_INFINITY

  constructor(db: Db, staleness: Staleness | null, consumer: EventConsumer) {
    this.#db = db
    this.#staleness = staleness
    this.#consumer = consumer
  }

  /** Starts at the end of the sequence, without reading earlier events. */
  async start(): Promise<void> {
    const began = this.#elapsed()
    await this.#seekToEnd()
    this.#currentAt = began
  }

  /** The last applied event. */
  get last(): EventRow | null {
    return this.#last
  }

  /** The last event read that changed existing rows. Claims only add rows, so they do not count. */
  get lastChange(): EventRow | null {
    return this.#lastChange
  }

  /** Why the last attempt failed, or null. Until an attempt succeeds, the data are not fresh. */
  get failure(): unknown {
    return this.#failure
  }

  /** Whether the applied events are within the staleness bound, and the last attempt did not fail. */
  get isFresh(): boolean {
    if (this.#failure !== null) return false
    const bound = this.#staleness
    return bound === null || bound.elapsed() - this.#currentAt <= bound.milliseconds
  }

  /** Milliseconds since a read last reached the end of the sequence. 0 without a staleness bound. */
  get staleFor(): number {
    return this.#staleness === null ? 0 : this.#elapsed() - this.#currentAt
  }

  /** Applies what this process has committed. Resolves once everything committed before the call is applied or has failed. */
  follow(): Promise<void> {
    this.#following = this.#following.then(() => this.#followNow())
    return this.#following
  }

  /** Applies everything after an earlier event again. */
  followFrom(event: EventRow | null): Promise<void> {
    this.#following = this.#following.then(() => {
      this.#last = event
      return this.#followNow()
    })
    return this.#following
  }

  /** Applies what other processes may have committed, one attempt at a time. A `StorageFailure` only lets the staleness grow. */
  catchUp(): Promise<void> {
    if (this.#staleness === null) return this.follow()
    this.#catchingUp ??= this.#catchUpOnce().finally(() => {
      this.#catchingUp = null
    })
    return this.#catchingUp
  }

  /**
   * Applies what any process had committed before the call. Concurrent callers share the next read.
   * @throws StorageFailure
   */
  syncToLatest(): Promise<void> {
    this.#queuedSync ??= this.#following.then(() => {
      this.#queuedSync = null
      return this.#readToEnd().catch((cause) => {
        throw new StorageFailure('The events cannot be followed.', { cause })
      })
    })
    this.#following = this.#queuedSync.catch(() => undefined)
    return this.#queuedSync
  }

  async #catchUpOnce(): Promise<void> {
    this.#following = this.#following.then(() =>
      this.#readToEnd().catch((error) => {
        // An unreachable database may recover before the staleness bound. Other errors will not go away by themselves.
        if (!(error instanceof StorageFailure)) this.#failure = error
      }),
    )
    await this.#following
  }

  async #followNow(): Promise<void> {
    await this.#readToEnd().catch((error) => {
      this.#failure = error
    })
  }

  async #readToEnd(): Promise<void> {
    let began: number
    do began = this.#elapsed()
    while (await this.#readBatch())
    this.#currentAt = began
    this.#failure = null
  }

  /** @returns whether there may be more events */
  async #readBatch(): Promise<boolean> {
    const known = this.#last
    const rows = await eventsAfter(this.#db, (known?.seq ?? 1) - 1, BATCH_SIZE)
    if (known !== null && !isSameEvent(known, rows[0])) {
      await this.#seekToEnd()
      this.#consumer.reset()
      return false
    }
    const events = known === null ? rows : rows.slice(1)
    const last = events.at(-1)
    if (last === undefined) return false
    this.#lastChange = events.findLast(({ type }) => type !== 'agent.claimed') ?? this.#lastChange
    await this.#consumer.apply(events)
    this.#last = last
    this.#consumer.onApplied(events)
    return rows.length === BATCH_SIZE
  }

  async #seekToEnd(): Promise<void> {
    const last = await lastSeq(this.#db)
    this.#last = (await eventsAfter(this.#db, last - 1, 1))[0] ?? null
    this.#lastChange = this.#last
  }

  #elapsed(): number {
    return this.#staleness?.elapsed() ?? 0
  }
}
