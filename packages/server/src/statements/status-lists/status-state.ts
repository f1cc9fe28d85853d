import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, type FeedChange } from '@countersign/protocol'
import type { AgentReadModel } from '../../agents/read-model/agent-read-model.ts'
import { type Database, type EventRow, StorageFailure } from '../../database/database.ts'
import { eventsAfter } from '../../database/event-table.ts'
import { beginEpoch, openEpoch } from './epoch.ts'
import { changeOf, changesBetween, digestOf } from './status-event-table.ts'
import { StatusLists } from './status-lists.ts'

/** Changes in memory, for the subscribers of the feed. Who is further behind reads them from the database. */
const RECENT_CHANGES = 2000
/** Changes read from the database at a time. */
const PAGE_SIZE = 1000
/** Delay before a failed load is retried. */
const RETRY_MS = 1000

export interface StatusStateDeps {
  readonly db: Database
  readonly readModel: AgentReadModel
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Called if the lists could not be loaded again. It is retried. */
  readonly onError: (error: unknown) => void
}

/** How far this node knows the sequence of events. */
export interface FeedPosition {
  readonly epoch: string
  /** Of the newest event; 0 if there is none. */
  readonly seq: number
  /** See `digestOf`. */
  readonly digest: string
}

/** A position with the time up to which this node knows the database, in milliseconds since 1970. */
export interface CurrentPosition extends FeedPosition {
  readonly asOf: number
}

/** What the subscribers of the feed are told. */
export interface StatusListener {
  /** There are new changes. */
  onChange(): void
  /** Another epoch has begun: cursors of the one before are void. */
  onEpochEnd(): void
}

interface Loaded {
  readonly epoch: string
  readonly lists: StatusLists
}

/** All status lists and the newest changes, kept up to date from the events. Every node and worker has its own. */
export class StatusState {
  readonly #deps: StatusStateDeps
  readonly #listeners: StatusListener[] = []
  /** The epochs that this node has seen. */
  readonly #epochs = new Set<string>()
  /** Null while the lists are loaded. */
  #loaded: Loaded | null = null
  /** Incremented whenever what is being loaded is out of date. */
  #generation = 0
  /** Events about lists that came while the lists were loaded. */
  #pending: EventRow[] = []
  #last: EventRow | null = null
  /** In order, without gaps after `#recentFrom`. */
  #recent: FeedChange[] = []
  #recentFrom = 0
  /** Whether events were lost, and no new epoch has begun yet. */
  #isLost = false
  #renewing: Promise<void> | null = null
  readonly #stopped = new AbortController()

  private constructor(deps: StatusStateDeps) {
    this.#deps = deps
    deps.readModel.onApplied((events) => this.#apply(events))
    deps.readModel.onReset(() => this.reportLoss())
  }

  /** @param deps the read model follows the events already */
  static async open(deps: StatusStateDeps): Promise<StatusState> {
    const state = new StatusState(deps)
    await state.#load()
    if (state.#loaded === null) await state.#renew()
    return state
  }

  addListener(listener: StatusListener): void {
    this.#listeners.push(listener)
  }

  /** @throws CodedError UNAVAILABLE while the lists are loaded; StorageFailure if this node is stale */
  get lists(): StatusLists {
    return this.#assertLoaded().lists
  }

  /** @throws what `lists` throws */
  get position(): CurrentPosition {
    const { epoch } = this.#assertLoaded()
    const { readModel, now } = this.#deps
    const last = this.#last
    // Rounded down: the monotonic clock has fractions, the claim has none.
    const asOf = Math.floor(now() - readModel.staleness())
    return { epoch, seq: last?.seq ?? 0, digest: digestOf(last), asOf }
  }

  /** @throws what `lists` throws */
  async syncToLatest(): Promise<void> {
    this.#assertLoaded()
    await this.#deps.readModel.syncToLatest()
    this.#assertLoaded()
  }

  /**
   * Changes with `after` < `seq` <= `upTo`, in order: a page of them.
   * @param upTo at most the position
   * @returns `next`: the `after` of the next page; `upTo` after the last page
   */
  async changes(
    after: number,
    upTo: number,
  ): Promise<{ readonly changes: readonly FeedChange[]; readonly next: number }> {
    if (after >= this.#recentFrom) {
      const known = this.#recent.findLastIndex(({ seq }) => seq <= after)
      return { changes: this.#recent.slice(known + 1).filter(({ seq }) => seq <= upTo), next: upTo }
    }
    const limit = PAGE_SIZE
    const changes = await changesBetween(this.#deps.db.read, { after, upTo, limit })
    return { changes, next: changes.length < limit ? upTo : (changes.at(-1)?.seq ?? upTo) }
  }

  /** Whether the event at a position is the one that it names. @param position not after that of this node */
  async isKnown({ seq, digest }: FeedPosition): Promise<boolean> {
    if (seq === 0) return digest === digestOf(null)
    const [event] = await eventsAfter(this.#deps.db.eventReader, seq - 1, 1)
    return event?.seq === seq && digestOf(event) === digest
  }

  /** Begins another epoch, since events that were published are no longer in the database. */
  reportLoss(): void {
    this.#isLost = true
    this.#last = null
    void this.#renew()
  }

  stop(): Promise<void> {
    this.#stopped.abort()
    return this.#renewing ?? Promise.resolve()
  }

  #assertLoaded(): Loaded {
    if (!this.#deps.readModel.isFresh) throw new StorageFailure('The events cannot be followed.')
    if (this.#loaded !== null) return this.#loaded
    throw new CodedError(
      'UNAVAILABLE',
      'The status lists are being loaded. Try again in a second.',
      {
        retryAfterSeconds: 1,
      },
    )
  }

  #apply(events: readonly EventRow[]): void {
    const known = this.#last?.seq ?? 0
    const last = events.at(-1)
    // After a start, the read model applies some events twice.
    if (last === undefined || last.seq <= known) return
    this.#last = last
    const own = events.filter(({ seq, type }) => seq > known && type.startsWith('status.'))
    if (own.length === 0) return
    if (own.some(({ type }) => type === 'status.epoch_began')) void this.#renew()
    else if (this.#loaded === null) this.#pending.push(...own)
    else this.#publish(this.#loaded.lists, own)
  }

  #publish(lists: StatusLists, events: readonly EventRow[]): void {
    for (const event of events) lists.apply(event)
    const changes = events.filter(({ type }) => type === 'status.changed').map(changeOf)
    if (changes.length === 0) return
    this.#recent.push(...changes)
    if (this.#recent.length > 2 * RECENT_CHANGES) {
      const forgotten = this.#recent.splice(0, this.#recent.length - RECENT_CHANGES)
      this.#recentFrom = forgotten.at(-1)?.seq ?? this.#recentFrom
    }
    for (const listener of this.#listeners) listener.onChange()
  }

  /** Loads everything again, in a new epoch if events were lost. Until then, nothing is answered. */
  #renew(): Promise<void> {
    this.#generation += 1
    this.#loaded = null
    this.#pending = []
    for (const listener of this.#listeners) listener.onEpochEnd()
    this.#renewing ??= this.#renewUntilLoaded().finally(() => {
      this.#renewing = null
    })
    return this.#renewing
  }

  async #renewUntilLoaded(): Promise<void> {
    const { signal } = this.#stopped
    while (this.#loaded === null && !signal.aborted) {
      try {
        if (this.#isLost) await this.#beginEpoch()
        await this.#load()
      } catch (error) {
        this.#deps.onError(error)
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  async #beginEpoch(): Promise<void> {
    const { db, now } = this.#deps
    // Copied: meanwhile, this node may learn of the new epoch.
    const known = new Set(this.#epochs)
    await db.write((tx) => beginEpoch(tx, known, now()))
    this.#isLost = false
  }

  async #load(): Promise<void> {
    const { db, readModel } = this.#deps
    const generation = this.#generation
    const epoch = await openEpoch(db)
    const lists = await StatusLists.load(db.read)
    // Everything that was committed before the lists were read is applied by now, or waits in `#pending`.
    await readModel.syncToLatest()
    if (generation !== this.#generation) return
    for (const event of this.#pending) lists.apply(event)
    this.#pending = []
    const { lastEvent } = readModel
    if ((lastEvent?.seq ?? 0) > (this.#last?.seq ?? 0)) this.#last = lastEvent
    this.#recent = []
    this.#recentFrom = this.#last?.seq ?? 0
    this.#epochs.add(epoch)
    this.#loaded = { epoch, lists }
  }
}
