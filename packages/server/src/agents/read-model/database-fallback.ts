import type { Tail } from '@countersign/protocol'
import type { Db, EventRow } from '../../database/database.ts'
import type { Replica } from '../../database/postgres/replica.ts'
import type { AgentRecord, OwnerRecord } from '../agent-record.ts'
import { agentByTail, preferredTailOfKey } from '../agent-table.ts'
import { endOfKey } from '../keys/key-table.ts'
import type { AgentIndex } from './agent-index.ts'
import type { OwnerCache } from './owner-cache.ts'
import { findOwner, loadOwner, loadRecord } from './rows.ts'

/**
 * Reads what is not in memory: from a replica if it has replayed every change that this node has seen, else from the primary.
 * A row that is missing on the replica may not have been replicated yet, so only the primary can say that it does not exist.
 */
export class DatabaseFallback {
  readonly #primary: Db
  readonly #replica: Replica | null
  readonly #lastChange: () => EventRow | null

  /** @param lastChange the last event seen here that changed existing rows, or null */
  constructor(primary: Db, replica: Replica | null, lastChange: () => EventRow | null) {
    this.#primary = primary
    this.#replica = replica
    this.#lastChange = lastChange
  }

  agentByTail(tail: Tail): Promise<AgentRecord | null> {
    return this.#read((db) => recordByTail(db, tail), isFound)
  }

  /**
   * The agent that a lookup by this key returns. The replica's result counts only if that agent is active: no later claim takes
   * precedence over an active agent.
   */
  agentByKey(publicKey: Uint8Array): Promise<AgentRecord | null> {
    const work = async (db: Db) => {
      const tail = (await preferredTailOfKey(db, publicKey)) as Tail | undefined
      return tail === undefined ? null : recordByTail(db, tail)
    }
    return this.#read(work, (agent) => agent?.status === 'active')
  }

  /** What became of a key that an agent has had. */
  endOfKey(publicKey: Uint8Array): ReturnType<typeof endOfKey> {
    return endOfKey(this.#primary, publicKey)
  }

  async owner(id: number): Promise<OwnerRecord> {
    return (await this.#read((db) => findOwner(db, id), isFound)) ?? loadOwner(this.#primary, id)
  }

  /** @param isConclusive whether a replica's result needs no check on the primary */
  async #read<T>(
    work: (db: Db) => Promise<T | null>,
    isConclusive: (found: T | null) => boolean,
  ): Promise<T | null> {
    const known = this.#lastChange()
    if (this.#replica !== null && known !== null) {
      const found = await this.#replica.read(known, work)
      // A change seen during the read may be missing in the result.
      if (isConclusive(found) && this.#lastChange() === known) return found
    }
    return work(this.#primary)
  }
}

const isFound = (found: unknown) => found !== null

async function recordByTail(db: Db, tail: Tail): Promise<AgentRecord | null> {
  const row = await agentByTail(db, tail)
  return row === undefined ? null : loadRecord(db, row)
}

/** The caches of a read model. */
export interface ReadModelCaches {
  readonly agents: AgentIndex
  readonly owners: OwnerCache
}

/**
 * Fills the caches with the results of point reads. If a row changed during its read, the result is stale, and no later event
 * would correct it: the row is read again unless the newer version is still in memory.
 */
export class CacheFiller {
  readonly #caches: () => ReadModelCaches
  /** For each pending read, the tails of the agents and the ids of the owners that changed since it began. */
  readonly #changedDuringReads = new Set<Set<string | number>>()

  /** @param caches the current caches: a reset of the read model replaces them */
  constructor(caches: () => ReadModelCaches) {
    this.#caches = caches
  }

  /**
   * Call before applying events. Otherwise a slow read can re-insert a stale row after the newer one was evicted. Claims need
   * no call, since no row is older than its claim.
   */
  recordChanges(tails: ReadonlySet<string>, owners: ReadonlySet<number>): void {
    for (const changed of this.#changedDuringReads) {
      for (const tail of tails) changed.add(tail)
      for (const owner of owners) changed.add(owner)
    }
  }

  /** Runs a read of an agent and caches its result. Null if there is no such agent. */
  async agent(read: () => Promise<AgentRecord | null>): Promise<AgentRecord | null> {
    for (;;) {
      const { agents } = this.#caches()
      const { found, changed } = await this.#trackChanges(read)
      if (found === null) return null
      if (changed.has(found.tail) && agents.byTail(found.tail) === null) continue
      agents.upsert(found)
      return agents.byTail(found.tail) ?? found
    }
  }

  /** Runs a read of an owner and caches its result. */
  async owner(id: number, read: () => Promise<OwnerRecord>): Promise<OwnerRecord> {
    for (;;) {
      const { owners } = this.#caches()
      const { found, changed } = await this.#trackChanges(read)
      const known = owners.get(id)
      if (known !== undefined) return known
      if (changed.has(id)) continue
      owners.set(found)
      return found
    }
  }

  async #trackChanges<T>(
    read: () => Promise<T>,
  ): Promise<{ readonly found: T; readonly changed: ReadonlySet<string | number> }> {
    const changed = new Set<string | number>()
    this.#changedDuringReads.add(changed)
    try {
      return { found: await read(), changed }
    } finally {
      this.#changedDuringReads.delete(changed)
    }
  }
}
