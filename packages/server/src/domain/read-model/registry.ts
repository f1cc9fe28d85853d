import type { AgentReference, Tail } from '@countersign/protocol'
import { agentByTail, chosenTailOfKey } from '../../storage/agents.ts'
import { type Db, type EventRow, StorageFailure } from '../../storage/database.ts'
import { eventsAfter, lastSeq } from '../../storage/events.ts'
import type { AgentRecord, AgentView, OwnerFacts } from '../agent-record.ts'
import { AgentIndex } from './agent-index.ts'
import { loadAll } from './load.ts'
import { OwnerCache } from './owner-cache.ts'
import { loadOwner, loadRecord, recordOfClaim } from './rows.ts'

const EVENTS_AT_ONCE = 1000

/** How long a read model vouches for agents without knowing what other nodes have written. */
export interface Staleness {
  readonly milliseconds: number
  /** A clock that never goes back, in milliseconds. */
  readonly elapsed: () => number
}

/**
 * The read model: every answer about an agent comes from here. It holds agents and owners in memory, follows the
 * event sequence, and asks the database for what it does not hold.
 */
export class Registry {
  readonly #db: Db
  readonly #limit: number
  readonly #agents: AgentIndex
  readonly #owners: OwnerCache
  #position = 0
  /** Whether everything there is is in memory, so that what is not here does not exist. */
  #complete = false
  #following: Promise<void> = Promise.resolve()
  #failure: unknown = null
  /** Null: what others have written is seen at once, or the read fails. */
  readonly #staleness: Staleness | null
  /** When a read began that found nothing more to follow. */
  #currentAt = Number.NEGATIVE_INFINITY
  #catchingUp: Promise<void> | null = null
  readonly #listeners: ((events: readonly EventRow[]) => void)[] = []

  /**
   * @param db for reading
   * @param limit how many agents, and how many owners, it holds at most
   */
  constructor(
    db: Db,
    limit: number,
    randomBytes: (count: number) => Uint8Array,
    staleness: Staleness | null = null,
  ) {
    this.#db = db
    this.#limit = limit
    this.#agents = new AgentIndex(limit, randomBytes)
    this.#owners = new OwnerCache(limit)
    this.#staleness = staleness
  }

  /** Starts following the events. From here on every answer is right, from the database until `load` has ended. */
  async start(): Promise<void> {
    const began = this.#elapsed()
    this.#position = await lastSeq(this.#db)
    this.#currentAt = began
  }

  /** Brings everything into memory, as far as the limit allows, a page a turn of the event loop. */
  async load(): Promise<void> {
    const from = this.#position
    const fitted = await loadAll(this.#db, this.#agents, this.#limit, (owner) =>
      this.#owners.set(owner),
    )
    // What changed while a page was on its way is read once more.
    this.#following = this.#following.then(() => {
      this.#position = from
      return this.#followNow()
    })
    await this.#following
    this.#complete = fitted
  }

  /** The last event that shows in answers. */
  get position(): number {
    return this.#position
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
    return this.#failure !== null
  }

  get isComplete(): boolean {
    return this.#complete && !this.#agents.overflowed
  }

  /**
   * The agent that a reference names, or null where there is none.
   * @throws StorageFailure where the database failed: never a null that might be wrong
   */
  async find(reference: AgentReference): Promise<AgentView | null> {
    if (!this.#vouches)
      throw new StorageFailure('The events cannot be followed.', { cause: this.#failure })
    const agent =
      reference.kind === 'tail'
        ? (this.#agents.byTail(reference.tail) ?? (await this.#agentByTail(reference.tail)))
        : await this.#agentByKey(reference.publicKey)
    if (agent === null) return null
    return {
      agent,
      owner: this.#owners.get(agent.ownerId) ?? (await this.#ownerById(agent.ownerId)),
    }
  }

  /**
   * What is in memory of an agent, for an answer that is made at once; null does not mean that there is none.
   * @returns a view that is good until something changes: hold it across no `await`
   */
  inMemory(tail: Tail): AgentView | null {
    if (!this.#vouches) return null
    const agent = this.#agents.peek(tail)
    const owner = agent === null ? undefined : this.#owners.get(agent.ownerId)
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
    this.#following = this.#following.then(() => this.#followNow())
    return this.#following
  }

  /** Follows what other processes may have committed, one attempt at a time; its failures count once they last. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#catchUpOnce().finally(() => {
      this.#catchingUp = null
    })
    return this.#catchingUp
  }

  async #catchUpOnce(): Promise<void> {
    if (this.#staleness === null) return this.follow()
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
    while (await this.#applyNextEvents())
    this.#currentAt = began
    this.#failure = null
  }

  /** Whether what is in memory is what the database says, or was a moment ago. */
  get #vouches(): boolean {
    if (this.#failure !== null) return false
    const bound = this.#staleness
    return bound === null || bound.elapsed() - this.#currentAt <= bound.milliseconds
  }

  #elapsed(): number {
    return this.#staleness?.elapsed() ?? 0
  }

  /** @returns whether there may be more */
  async #applyNextEvents(): Promise<boolean> {
    const events = await eventsAfter(this.#db, this.#position, EVENTS_AT_ONCE)
    const last = events.at(-1)
    if (last === undefined) return false
    await this.#applyToAgents(events)
    const owners = new Set(
      events.filter(({ type }) => type.startsWith('owner.')).map((e) => e.owner_id),
    )
    for (const id of owners) if (id !== null) this.#owners.set(await loadOwner(this.#db, id))
    this.#position = last.seq
    for (const listener of this.#listeners) listener(events)
    return events.length === EVENTS_AT_ONCE
  }

  /** A claim's event says all there is of a new agent; of the others the rows are read, each once. */
  async #applyToAgents(events: readonly EventRow[]): Promise<void> {
    const changed = new Set<string>()
    for (const event of events) {
      if (event.type === 'agent.claimed') this.#agents.upsert(recordOfClaim(event))
      else if (event.tail !== null) changed.add(event.tail)
    }
    for (const tail of changed) {
      const row = await agentByTail(this.#db, tail)
      if (row !== undefined) this.#agents.upsert(await loadRecord(this.#db, row))
    }
  }

  async #agentByTail(tail: Tail): Promise<AgentRecord | null> {
    if (this.isComplete) return null
    const row = await agentByTail(this.#db, tail)
    if (row === undefined) return null
    const record = await loadRecord(this.#db, row)
    this.#agents.upsert(record)
    return record
  }

  async #agentByKey(publicKey: Uint8Array): Promise<AgentRecord | null> {
    if (this.isComplete) return this.#agents.byKey(publicKey)
    const tail = (await chosenTailOfKey(this.#db, publicKey)) as Tail | undefined
    if (tail === undefined) return null
    return this.#agents.byTail(tail) ?? (await this.#agentByTail(tail))
  }

  async #ownerById(id: number): Promise<OwnerFacts> {
    const owner = await loadOwner(this.#db, id)
    this.#owners.set(owner)
    return owner
  }
}
