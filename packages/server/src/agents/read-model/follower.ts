import { type Db, type EventRow, StorageFailure } from '../../core/database/database.ts'
import { eventsAfter, isSameEvent, lastSeq } from '../../core/database/event-table.ts'

const EVENTS_AT_ONCE = 1000

/** How long a read model vouches for agents without knowing what other nodes have written. */
export interface Staleness {
  readonly milliseconds: number
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number
}

/** What is kept up to date by events. */
export interface Followed {
  apply(events: readonly EventRow[]): Promise<void>
  /** Once they show. */
  applied(events: readonly EventRow[]): void
  /** What was followed has not happened: another server took the place of the one that said so. */
  startOver(): void
}

/**
 * Follows the sequence of events. With what comes after the last event it asks for that one again: where it is not
 * there, or is another, a failover has lost it, and all that has been seen is in doubt.
 */
export class EventFollower {
  readonly #db: Db
  /** Null: what others have written is seen at once, or the read fails. */
  readonly #staleness: Staleness | null
  readonly #followed: Followed
  #last: EventRow | null = null
  #lastChange: EventRow | null = null
  #following: Promise<void> = Promise.resolve()
  /** A reading that has not begun. */
  #next: Promise<void> | null = null
  #catchingUp: Promise<void> | null = null
  #failure: unknown = null
  /** When a read began that found nothing more to follow. */
  #currentAt = Number.NEGATIVE_INFINITY

  constructor(db: Db, staleness: Staleness | null, followed: Followed) {
    this.#db = db
    this.#staleness = staleness
    this.#followed = followed
  }

  /** From the last event on. */
  async start(): Promise<void> {
    const began = this.#elapsed()
    await this.#goToEnd()
    this.#currentAt = began
  }

  /** The last event that shows. */
  get last(): EventRow | null {
    return this.#last
  }

  /** The last event that has been seen of those that change what was there: a claim adds to it. */
  get lastChange(): EventRow | null {
    return this.#lastChange
  }

  /** Why the last attempt failed: until one succeeds, nothing is vouched for. */
  get failure(): unknown {
    return this.#failure
  }

  /** Whether what has been seen is what the database says, or was a moment ago. */
  get isCurrent(): boolean {
    if (this.#failure !== null) return false
    const bound = this.#staleness
    return bound === null || bound.elapsed() - this.#currentAt <= bound.milliseconds
  }

  /** For how many milliseconds nothing has been heard; 0 where there is no telling and no need. */
  get staleFor(): number {
    return this.#staleness === null ? 0 : this.#elapsed() - this.#currentAt
  }

  /** Follows what this process has committed. Resolves when everything committed before the call shows, or has failed. */
  follow(): Promise<void> {
    this.#following = this.#following.then(() => this.#followNow())
    return this.#following
  }

  /** The same, of everything after an event that was the last one once. */
  followFrom(event: EventRow | null): Promise<void> {
    this.#following = this.#following.then(() => {
      this.#last = event
      return this.#followNow()
    })
    return this.#following
  }

  /** Follows what other processes may have committed, one attempt at a time; its failures count once they last. */
  catchUp(): Promise<void> {
    if (this.#staleness === null) return this.follow()
    this.#catchingUp ??= this.#catchUpOnce().finally(() => {
      this.#catchingUp = null
    })
    return this.#catchingUp
  }

  /**
   * Reads what anybody had committed before the call. Whoever asks while one reading is under way shares the next.
   * @throws StorageFailure
   */
  syncToLatest(): Promise<void> {
    this.#next ??= this.#following.then(() => {
      this.#next = null
      return this.#readOn().catch((cause) => {
        throw new StorageFailure('The events cannot be followed.', { cause })
      })
    })
    this.#following = this.#next.catch(() => undefined)
    return this.#next
  }

  async #catchUpOnce(): Promise<void> {
    this.#following = this.#following.then(() =>
      this.#readOn().catch((error) => {
        // A database that cannot be reached may be there again in a moment; one that refuses will go on refusing.
        if (!(error instanceof StorageFailure)) this.#failure = error
      }),
    )
    await this.#following
  }

  async #followNow(): Promise<void> {
    await this.#readOn().catch((error) => {
      this.#failure = error
    })
  }

  async #readOn(): Promise<void> {
    let began: number
    do began = this.#elapsed()
    while (await this.#readNext())
    this.#currentAt = began
    this.#failure = null
  }

  /** @returns whether there may be more */
  async #readNext(): Promise<boolean> {
    const known = this.#last
    const rows = await eventsAfter(this.#db, (known?.seq ?? 1) - 1, EVENTS_AT_ONCE)
    if (known !== null && !isSameEvent(known, rows[0])) {
      await this.#goToEnd()
      this.#followed.startOver()
      return false
    }
    const events = known === null ? rows : rows.slice(1)
    const last = events.at(-1)
    if (last === undefined) return false
    this.#lastChange = events.findLast(({ type }) => type !== 'agent.claimed') ?? this.#lastChange
    await this.#followed.apply(events)
    this.#last = last
    this.#followed.applied(events)
    return rows.length === EVENTS_AT_ONCE
  }

  async #goToEnd(): Promise<void> {
    const last = await lastSeq(this.#db)
    this.#last = (await eventsAfter(this.#db, last - 1, 1))[0] ?? null
    this.#lastChange = this.#last
  }

  #elapsed(): number {
    return this.#staleness?.elapsed() ?? 0
  }
}
