import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError, type FeedChange } from '@countersign/protocol'
import {
  beginEpoch,
  type FeedEnd,
  feedChangesBetween,
  feedEnd,
  openEpoch,
} from '../../agents/changes/feed-change-table.ts'
import type { AgentReadModel } from '../../agents/read-model/agent-read-model.ts'
import { type Database, type Db, type EventRow, StorageFailure } from '../../database/database.ts'
import { type ChainedLine, lineOf } from './status-event-table.ts'
import { StatusLists } from './status-lists.ts'

/** Changes in memory, for the subscribers of the feed. Who is further behind reads them from the database. */
const RECENT_CHANGES = 2000
/** Changes of an answer to those who poll. */
export const POLLED_CHANGES = 64
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

/** A place in the feed of this node. */
export interface CurrentPosition {
  readonly epoch: string
  /** Of the newest change; 0 if there is none. */
  readonly n: number
  /** SHA-256 over all changes up to `n`, base64url. */
  readonly chain: string
  /** The time up to which this node knows the database, in milliseconds since 1970. */
  readonly asOf: number
  /** The newest event of any kind. It is private. */
  readonly last: EventRow | null
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
  /** The newest change that is in the lists. */
  n: number
  chain: string
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
  /** In order, without gaps: the first has the number after `#recentFrom`. */
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
    const { epoch, n, chain } = this.#assertLoaded()
    const { readModel, now } = this.#deps
    // Rounded down: the monotonic clock has fractions, the claim has none.
    const asOf = Math.floor(now() - readModel.staleness())
    return { epoch, n, chain, asOf, last: this.#last }
  }

  /** @throws what `lists` throws */
  async syncToLatest(): Promise<void> {
    this.#assertLoaded()
    await this.#deps.readModel.syncToLatest()
    this.#assertLoaded()
  }

  /**
   * Changes with `after` < `n` <= `upTo`, in order: a page of them.
   * @param upTo at most that of the position
   * @returns `next`: the `after` of the next page; `upTo` after the last page
   * @throws what `lists` throws
   */
  async changes(
    after: number,
    upTo: number,
  ): Promise<{ readonly changes: readonly FeedChange[]; readonly next: number }> {
    const { epoch } = this.#assertLoaded()
    if (after >= this.#recentFrom) {
      const from = after - this.#recentFrom
      return { changes: this.#recent.slice(from, upTo - this.#recentFrom), next: upTo }
    }
    const range = { epoch, after, upTo, limit: PAGE_SIZE }
    const changes = await feedChangesBetween(this.#deps.db.read, range)
    return { changes, next: changes.at(-1)?.n ?? upTo }
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
    else this.#publish(this.#loaded, own)
  }

  #publish(loaded: Loaded, events: readonly EventRow[]): void {
    for (const event of events) loaded.lists.apply(event)
    const lines = linesIn(events).filter(({ change }) => change.n > loaded.n)
    if (lines.length === 0) return
    advance(loaded, lines)
    this.#recent.push(...lines.map(({ change }) => change))
    if (this.#recent.length > 2 * RECENT_CHANGES) {
      const forgotten = this.#recent.splice(0, this.#recent.length - RECENT_CHANGES)
      this.#recentFrom += forgotten.length
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
    await openEpoch(db)
    // Before the lists, so that they are at least as new.
    const end = await feedEnd(db.read)
    const recent = end === null ? [] : await newestChanges(db.read, end)
    const lists = await StatusLists.load(db.read)
    // Everything that was committed before the lists were read is applied by now, or waits in `#pending`.
    await readModel.syncToLatest()
    if (generation !== this.#generation || end === null) return
    const loaded: Loaded = { ...positionOf(end), lists }
    for (const event of this.#pending) lists.apply(event)
    const lines = linesIn(this.#pending).filter(({ change }) => change.n > end.n)
    advance(loaded, lines)
    this.#pending = []
    const { lastEvent } = readModel
    if ((lastEvent?.seq ?? 0) > (this.#last?.seq ?? 0)) this.#last = lastEvent
    this.#recent = [...recent, ...lines.map(({ change }) => change)]
    this.#recentFrom = loaded.n - this.#recent.length
    this.#epochs.add(loaded.epoch)
    this.#loaded = loaded
  }
}

/** For those who poll: they need not read the database after a start. */
function newestChanges(db: Db, { epoch, n: upTo }: FeedEnd): Promise<FeedChange[]> {
  const after = Math.max(0, upTo - POLLED_CHANGES)
  return feedChangesBetween(db, { epoch, after, upTo, limit: POLLED_CHANGES })
}

function positionOf({ epoch, n, chain }: FeedEnd) {
  return { epoch, n, chain: Buffer.from(chain).toString('base64url') }
}

function linesIn(events: readonly EventRow[]): ChainedLine[] {
  return events.filter(({ type }) => type === 'status.changed').map(lineOf)
}

function advance(loaded: Loaded, lines: readonly ChainedLine[]): void {
  const newest = lines.at(-1)
  if (newest === undefined) return
  loaded.n = newest.change.n
  loaded.chain = newest.chain
}
