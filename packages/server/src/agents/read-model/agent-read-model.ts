import type { AgentReference, Tail } from '@countersign/protocol'
import { DELETED_OWNER_ID } from '../../accounts/owner-table.ts'
import { type Database, type Db, type EventRow, StorageFailure } from '../../database/database.ts'
import type { Replica } from '../../database/postgres/replica.ts'
import type { AgentRecord, AgentView, OwnerRecord } from '../agent-record.ts'
import { AgentIndex } from './agent-index.ts'
import { CacheFiller, DatabaseFallback } from './database-fallback.ts'
import { EventFollower, type Staleness } from './follower.ts'
import { type LoadSource, loadAll } from './load-agents.ts'
import { OwnerCache } from './owner-cache.ts'
import type { Revised } from './revision.ts'
import { loadOwner, loadRecords, recordOfClaim } from './rows.ts'

/** A view of data in memory. Either revision is another after a change. */
export interface RevisedView extends AgentView {
  readonly agent: AgentRecord & Revised
  readonly owner: OwnerRecord & Revised
}

/** Delay before a failed load is retried. */
const RELOAD_DELAY_MS = 1000

/** Optional properties of the database behind a read model. */
export interface ReadModelOptions {
  /** Null, the default, if every read sees the writes of other processes or fails. */
  readonly staleness?: Staleness | null
  readonly replica?: Replica | null
  /** The database, if it is a SQLite file. Null, the default: this thread reads all agents. */
  readonly file?: string | null
}

/**
 * The read model that every response about an agent is built from. It keeps agents and owners in memory, updates them by
 * following the event sequence, and reads from the database what is not in memory.
 */
export class AgentReadModel {
  readonly #source: LoadSource
  readonly #eventReader: Db
  readonly #limit: number
  readonly #randomBytes: (count: number) => Uint8Array
  readonly #fallback: DatabaseFallback
  readonly #filler: CacheFiller
  readonly #replica: Replica | null
  readonly #events: EventFollower
  #agents: AgentIndex
  #owners: OwnerCache
  /** Whether all agents and owners were loaded, so that an agent that is not in memory does not exist. */
  #complete = false
  /** When to retry loading everything, by `performance.now()`. Null if it is loaded or being loaded. */
  #reloadAt: number | null = null
  readonly #listeners: ((events: readonly EventRow[]) => void)[] = []
  readonly #resetListeners: (() => void)[] = []

  /** @param limit the maximum number of agents, and of owners, in memory */
  constructor(
    db: Pick<Database, 'read' | 'pointReads' | 'eventReader'>,
    limit: number,
    randomBytes: (count: number) => Uint8Array,
    { staleness = null, replica = null, file = null }: ReadModelOptions = {},
  ) {
    this.#source = { db: db.read, file }
    this.#eventReader = db.eventReader
    this.#limit = limit
    this.#randomBytes = randomBytes
    this.#agents = new AgentIndex(limit, randomBytes)
    this.#owners = new OwnerCache(limit)
    this.#replica = replica
    this.#events = new EventFollower(db.eventReader, staleness, {
      apply: (events) => this.#apply(events),
      onApplied: (events) => {
        for (const listener of this.#listeners) listener(events)
      },
      reset: () => this.#reset(),
    })
    this.#fallback = new DatabaseFallback(db.pointReads, replica, () => this.#events.lastChange)
    this.#filler = new CacheFiller(() => ({ agents: this.#agents, owners: this.#owners }))
  }

  /** Starts following the events. From then on responses are correct; until `load` has finished, they come from the database. */
  start(): Promise<void> {
    return this.#events.start()
  }

  /** Loads all agents and owners, if they fit within the limit, one page per turn of the event loop. */
  async load(): Promise<void> {
    const from = this.#events.last
    const agents = this.#agents
    const owners = this.#owners
    const fitted = await loadAll(this.#source, agents, this.#limit, (owner) => {
      // An owner in memory was updated by events. The page may have been read before those.
      if (owners.peek(owner.id) === undefined) owners.set(owner)
    })
    // Agents may have changed while their page was read: apply the events since the start once more.
    if (agents === this.#agents) await this.#events.followFrom(from)
    if (agents === this.#agents) this.#complete = fitted
  }

  /** Sequence number of the last applied event. */
  get position(): number {
    return this.#events.last?.seq ?? 0
  }

  /** The last applied event; null if there is none. */
  get lastEvent(): EventRow | null {
    return this.#events.last
  }

  /**
   * Applies what any process had committed before the call.
   * @throws StorageFailure
   */
  syncToLatest(): Promise<void> {
    return this.#events.syncToLatest()
  }

  /** Registers a listener that is called if applied events are no longer in the database: a failover has lost them. */
  onReset(listener: () => void): void {
    this.#resetListeners.push(listener)
  }

  /** Registers a listener for events of all processes, called once they are applied. After a start, some may come twice. */
  onApplied(listener: (events: readonly EventRow[]) => void): void {
    this.#listeners.push(listener)
  }

  get agentsInMemory(): number {
    return this.#agents.size
  }

  /** Whether the last attempt to follow the events failed. Until one succeeds, lookups fail. */
  get isBehind(): boolean {
    return this.#events.failure !== null
  }

  /** Whether every agent is in memory, so that an agent that is not found does not exist. */
  get isComplete(): boolean {
    return this.#complete && !this.#agents.overflowed
  }

  /** Whether the data in memory are within the staleness bound. If false, lookups fail. */
  get isFresh(): boolean {
    return this.#events.isFresh
  }

  /** Milliseconds since the read model last saw the writes of other processes. 0 without a staleness bound. */
  staleness(): number {
    return this.#events.staleFor
  }

  /** The state of the configured replicas. `none` if there are none. */
  replicaStatus(): Promise<'none' | 'current' | 'behind' | 'down'> {
    return this.#replica?.status(this.#events.lastChange) ?? Promise.resolve('none')
  }

  /**
   * Finds the agent that a reference names. Null means that there is none.
   * @throws StorageFailure if the database fails or the read model is stale
   */
  async find(reference: AgentReference): Promise<AgentView | null> {
    for (;;) {
      const view = await this.#findOnce(reference)
      // The key may have been replaced during the read: look up again who has it.
      if (view === null || matches(view.agent, reference)) return view
    }
  }

  async #findOnce(reference: AgentReference): Promise<AgentView | null> {
    this.#assertFresh()
    const agent = await this.#agentOf(reference)
    if (agent === null) return null
    const known = this.#owners.get(agent.ownerId)
    const owner = known ?? (await this.#ownerOf(agent))
    // The data may have become stale during the read.
    this.#assertFresh()
    if (known !== undefined) return { agent, owner }
    // The agent may have changed while its owner was read. The record in memory is newer.
    return { agent: this.#agents.byTail(agent.tail) ?? agent, owner }
  }

  /**
   * The agent if it is in memory and fresh. Null does not mean that it does not exist.
   * @returns a view that is valid until the next change: do not use it after an `await`
   */
  inMemory(tail: Tail): RevisedView | null {
    if (!this.isFresh) return null
    const agent = this.#agents.peek(tail)
    const owner = agent === null ? undefined : this.#owners.peek(agent.ownerId)
    return agent === null || owner === undefined ? null : { agent, owner }
  }

  /** Whether an agent in memory has this key. Then the key was validated at its claim and needs no second validation. */
  hasSeenKey(publicKey: Uint8Array): boolean {
    return this.isComplete && this.#agents.byKey(publicKey) !== null
  }

  /**
   * What became of a key that an agent has had, from the database; null if no agent has replaced or reported it.
   * @throws StorageFailure
   */
  endOfKey(publicKey: Uint8Array): ReturnType<DatabaseFallback['endOfKey']> {
    return this.#fallback.endOfKey(publicKey)
  }

  /**
   * Applies the events that this process has committed. Resolves when everything committed before the call is applied. If
   * that fails, lookups fail until an attempt succeeds.
   */
  follow(): Promise<void> {
    return this.#events.follow()
  }

  /** Applies the events of other processes. An unreachable database makes lookups fail only once the staleness bound is exceeded. */
  catchUp(): Promise<void> {
    if (this.#reloadAt !== null && performance.now() >= this.#reloadAt) this.#reload()
    return this.#events.catchUp()
  }

  #assertFresh(): void {
    if (this.isFresh) return
    throw new StorageFailure('The events cannot be followed.', { cause: this.#events.failure })
  }

  /** Loads everything. If that fails, lookups go on reading from the database, and `catchUp` retries after a delay. */
  #reload(): void {
    this.#reloadAt = null
    this.load().catch(() => {
      this.#reloadAt ??= performance.now() + RELOAD_DELAY_MS
    })
  }

  #reset(): void {
    this.#drop()
    for (const listener of this.#resetListeners) listener()
  }

  /** Drops all data. Lookups read from the database until everything is loaded again. */
  #drop(): void {
    this.#complete = false
    this.#agents = new AgentIndex(this.#limit, this.#randomBytes)
    this.#owners = new OwnerCache(this.#limit)
    setImmediate(() => this.#reload())
  }

  /** A claim's event contains the whole new agent. For other events, the changed rows are read, each once. */
  async #apply(events: readonly EventRow[]): Promise<void> {
    const tails = new Set<string>()
    const owners = new Set<number>()
    for (const event of events) {
      const { type, tail, owner_id } = event
      const claimed = type === 'agent.claimed' ? recordOfClaim(event) : null
      if (claimed !== null) this.#agents.upsert(claimed)
      else if (tail !== null) tails.add(tail)
      if (type.startsWith('owner.') && owner_id !== null) owners.add(owner_id)
    }
    const deleted = events.filter(({ type }) => type === 'owner.deleted')
    this.#filler.recordChanges(tails, owners)
    for (const record of await loadRecords(this.#eventReader, [...tails]))
      this.#agents.upsert(record)
    for (const id of owners) this.#owners.set(await loadOwner(this.#eventReader, id))
    for (const { owner_id: id } of deleted) {
      if (id !== null) this.#agents.moveOwner(id, DELETED_OWNER_ID)
    }
    // This node was cut off for so long that the event no longer says whose names are in memory.
    if (deleted.some(({ owner_id }) => owner_id === null)) this.#drop()
  }

  async #agentOf(reference: AgentReference): Promise<AgentRecord | null> {
    if (reference.kind === 'tail') {
      const { tail } = reference
      const inMemory = () => this.#agents.byTail(tail)
      return inMemory() ?? this.#lookUp(inMemory, () => this.#fallback.agentByTail(tail))
    }
    const { publicKey } = reference
    const inDatabase = () => this.#fallback.agentByKey(publicKey)
    return this.#lookUp(() => this.#agents.byKey(publicKey), inDatabase)
  }

  /** @throws StorageFailure if the latest events or the agent cannot be read */
  async #lookUp(
    inMemory: () => AgentRecord | null,
    inDatabase: () => Promise<AgentRecord | null>,
  ): Promise<AgentRecord | null> {
    if (this.isComplete) {
      const known = inMemory()
      if (known !== null) return known
      // Another node may just have committed the agent's claim.
      await this.#events.syncToLatest()
      const found = inMemory()
      if (found !== null || this.isComplete) return found
    }
    return this.#filler.agent(inDatabase)
  }

  #ownerOf({ ownerId }: AgentRecord): Promise<OwnerRecord> {
    return this.#filler.owner(ownerId, () => this.#fallback.owner(ownerId))
  }
}

function matches({ publicKey }: AgentRecord, reference: AgentReference): boolean {
  return reference.kind === 'tail' || Buffer.compare(publicKey, reference.publicKey) === 0
}
