import type { AgentReference, Tail } from '@countersign/protocol'
import {
  type Database,
  type Db,
  type EventRow,
  StorageFailure,
} from '../../core/database/database.ts'
import type { Replica } from '../../core/database/postgres/replica.ts'
import type { AgentRecord, AgentView, OwnerRecord } from '../agent-record.ts'
import { AgentIndex } from './agent-index.ts'
import { CacheFiller, DatabaseFallback } from './database-fallback.ts'
import { EventFollower, type Staleness } from './follower.ts'
import { loadAll } from './load.ts'
import { OwnerCache } from './owner-cache.ts'
import { loadOwner, loadRecords, recordOfClaim } from './rows.ts'

/** After so long a load that has failed is tried again. */
const RELOAD_MS = 1000

/** What else there is to know of the database behind a read model. */
export interface ReadModelOptions {
  /** Null, the default: what others have written is seen at once, or the read fails. */
  readonly staleness?: Staleness | null
  readonly replica?: Replica | null
}

/**
 * The read model: every answer about an agent comes from here. It holds agents and owners in memory, follows the
 * event sequence, and asks the database for what it does not hold.
 */
export class AgentReadModel {
  readonly #read: Db
  readonly #eventReader: Db
  readonly #limit: number
  readonly #randomBytes: (count: number) => Uint8Array
  readonly #points: DatabaseFallback
  readonly #kept: CacheFiller
  readonly #replica: Replica | null
  readonly #events: EventFollower
  #agents: AgentIndex
  #owners: OwnerCache
  /** Whether everything there is is in memory, so that what is not here does not exist. */
  #complete = false
  /** When everything is to be brought into memory again; null where it is there, or on its way. */
  #reloadAt: number | null = null
  readonly #listeners: ((events: readonly EventRow[]) => void)[] = []

  /** @param limit how many agents, and how many owners, it holds at most */
  constructor(
    db: Pick<Database, 'read' | 'pointReads' | 'eventReader'>,
    limit: number,
    randomBytes: (count: number) => Uint8Array,
    { staleness = null, replica = null }: ReadModelOptions = {},
  ) {
    this.#read = db.read
    this.#eventReader = db.eventReader
    this.#limit = limit
    this.#randomBytes = randomBytes
    this.#agents = new AgentIndex(limit, randomBytes)
    this.#owners = new OwnerCache(limit)
    this.#replica = replica
    this.#events = new EventFollower(db.eventReader, staleness, {
      apply: (events) => this.#apply(events),
      applied: (events) => {
        for (const listener of this.#listeners) listener(events)
      },
      startOver: () => this.#startOver(),
    })
    this.#points = new DatabaseFallback(db.pointReads, replica, () => this.#events.lastChange)
    this.#kept = new CacheFiller(() => ({ agents: this.#agents, owners: this.#owners }))
  }

  /** Starts following the events. From here on every answer is right, from the database until `load` has ended. */
  start(): Promise<void> {
    return this.#events.start()
  }

  /** Brings everything into memory, as far as the limit allows, a page a turn of the event loop. */
  async load(): Promise<void> {
    const from = this.#events.last
    const agents = this.#agents
    const owners = this.#owners
    const fitted = await loadAll(this.#read, agents, this.#limit, (owner) => {
      // What is there was kept up to date by events since; a page that was on its way may be older.
      if (owners.peek(owner.id) === undefined) owners.set(owner)
    })
    // What changed while a page was on its way is read once more.
    if (agents === this.#agents) await this.#events.followFrom(from)
    if (agents === this.#agents) this.#complete = fitted
  }

  /** The number of the last event that shows in answers. */
  get position(): number {
    return this.#events.last?.seq ?? 0
  }

  /** Calls with events, whoever caused them, once they show in answers. After a start some may come twice. */
  onApplied(listener: (events: readonly EventRow[]) => void): void {
    this.#listeners.push(listener)
  }

  get agentsInMemory(): number {
    return this.#agents.size
  }

  /** Whether the last attempt to follow the events failed: until one succeeds, nobody is vouched for. */
  get isBehind(): boolean {
    return this.#events.failure !== null
  }

  get isComplete(): boolean {
    return this.#complete && !this.#agents.overflowed
  }

  /** Whether what is in memory is what the database says, or was a moment ago. */
  get vouches(): boolean {
    return this.#events.isCurrent
  }

  /** For how many milliseconds it has not heard what others have written; 0 where there is no telling and no need. */
  staleness(): number {
    return this.#events.staleFor
  }

  /** How the replicas stand that it may ask: `none` where there are none. */
  replicaStatus(): Promise<'none' | 'current' | 'behind' | 'down'> {
    return this.#replica?.status(this.#events.lastChange) ?? Promise.resolve('none')
  }

  /**
   * The agent that a reference names, or null where there is none.
   * @throws StorageFailure where the database failed: never a null that might be wrong
   */
  async find(reference: AgentReference): Promise<AgentView | null> {
    for (;;) {
      const view = await this.#findOnce(reference)
      // If the key was replaced during the read, another agent may have it now, or none.
      if (view === null || isNamedBy(view.agent, reference)) return view
    }
  }

  async #findOnce(reference: AgentReference): Promise<AgentView | null> {
    this.#assertFresh()
    const agent = await this.#agentOf(reference)
    if (agent === null) return null
    const known = this.#owners.get(agent.ownerId)
    const owner = known ?? (await this.#ownerOf(agent))
    // Reading may have taken until nothing more is known of what has changed.
    this.#assertFresh()
    if (known !== undefined) return { agent, owner }
    // And meanwhile the agent may have changed: what has been seen of it is newer.
    return { agent: this.#agents.byTail(agent.tail) ?? agent, owner }
  }

  /**
   * What is in memory of an agent, for an answer that is made at once; null does not mean that there is none.
   * @returns a view that is good until something changes: hold it across no `await`
   */
  inMemory(tail: Tail): AgentView | null {
    if (!this.vouches) return null
    const agent = this.#agents.peek(tail)
    const owner = agent === null ? undefined : this.#owners.peek(agent.ownerId)
    return agent === null || owner === undefined ? null : { agent, owner }
  }

  /** Whether a key is known to have been certified before, which spares checking it again. */
  hasSeenKey(publicKey: Uint8Array): boolean {
    return this.isComplete && this.#agents.byKey(publicKey) !== null
  }

  /**
   * Follows what this process has committed. Resolves when everything committed before the call shows; where that
   * fails, nobody is vouched for until it succeeds.
   */
  follow(): Promise<void> {
    return this.#events.follow()
  }

  /** Follows what other processes may have committed, one attempt at a time; its failures count once they last. */
  catchUp(): Promise<void> {
    if (this.#reloadAt !== null && performance.now() >= this.#reloadAt) this.#reload()
    return this.#events.catchUp()
  }

  #assertFresh(): void {
    if (this.vouches) return
    throw new StorageFailure('The events cannot be followed.', { cause: this.#events.failure })
  }

  /** Where that fails, the database goes on being asked, which is as right, and slower; it is tried again in a while. */
  #reload(): void {
    this.#reloadAt = null
    this.load().catch(() => {
      this.#reloadAt ??= performance.now() + RELOAD_MS
    })
  }

  /** Nothing is left of what was here, and the database is asked until everything is here again. */
  #startOver(): void {
    this.#complete = false
    this.#agents = new AgentIndex(this.#limit, this.#randomBytes)
    this.#owners = new OwnerCache(this.#limit)
    setImmediate(() => this.#reload())
  }

  /** A claim's event says all there is of a new agent; of the others the rows are read, each once. */
  async #apply(events: readonly EventRow[]): Promise<void> {
    const changed = new Set<string>()
    const owners = new Set<number>()
    for (const event of events) {
      const { type, tail, owner_id } = event
      if (type === 'agent.claimed') this.#agents.upsert(recordOfClaim(event))
      else if (tail !== null) changed.add(tail)
      if (type.startsWith('owner.') && owner_id !== null) owners.add(owner_id)
    }
    this.#kept.tellChanged(changed, owners)
    for (const record of await loadRecords(this.#eventReader, [...changed]))
      this.#agents.upsert(record)
    for (const id of owners) this.#owners.set(await loadOwner(this.#eventReader, id))
  }

  async #agentOf(reference: AgentReference): Promise<AgentRecord | null> {
    if (reference.kind === 'tail') {
      const { tail } = reference
      const inMemory = () => this.#agents.byTail(tail)
      return inMemory() ?? this.#look(inMemory, () => this.#points.agentByTail(tail))
    }
    const { publicKey } = reference
    const inDatabase = () => this.#points.agentByKey(publicKey)
    return this.#look(() => this.#agents.byKey(publicKey), inDatabase)
  }

  /** @throws StorageFailure where the news, or the answer, cannot be had */
  async #look(
    inMemory: () => AgentRecord | null,
    inDatabase: () => Promise<AgentRecord | null>,
  ): Promise<AgentRecord | null> {
    if (this.isComplete) {
      const known = inMemory()
      if (known !== null) return known
      // Another node may have answered its claim a moment ago.
      await this.#events.syncToLatest()
      const found = inMemory()
      if (found !== null || this.isComplete) return found
    }
    return this.#kept.agent(inDatabase)
  }

  #ownerOf({ ownerId }: AgentRecord): Promise<OwnerRecord> {
    return this.#kept.owner(ownerId, () => this.#points.owner(ownerId))
  }
}

function isNamedBy({ publicKey }: AgentRecord, reference: AgentReference): boolean {
  return reference.kind === 'tail' || Buffer.compare(publicKey, reference.publicKey) === 0
}
