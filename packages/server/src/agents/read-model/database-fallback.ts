import type { Tail } from '@countersign/protocol'
import type { Db, EventRow } from '../../core/database/database.ts'
import type { Replica } from '../../core/database/postgres/replica.ts'
import type { AgentRecord, OwnerRecord } from '../agent-record.ts'
import { agentByTail, preferredTailOfKey } from '../agent-table.ts'
import type { AgentIndex } from './agent-index.ts'
import type { OwnerCache } from './owner-cache.ts'
import { findOwner, loadOwner, loadRecord } from './rows.ts'

/**
 * Asks for what is not in memory: a replica where that is sure to know of every change that this node knows of, else
 * the primary. What a replica lacks may not have arrived there, so that only the primary says that there is none.
 */
export class DatabaseFallback {
  readonly #primary: Db
  readonly #replica: Replica | null
  readonly #lastChange: () => EventRow | null

  /** @param lastChange the last event known here that changed what was there */
  constructor(primary: Db, replica: Replica | null, lastChange: () => EventRow | null) {
    this.#primary = primary
    this.#replica = replica
    this.#lastChange = lastChange
  }

  agentByTail(tail: Tail): Promise<AgentRecord | null> {
    return this.#read((db) => recordByTail(db, tail), isThere)
  }

  /** Of the agents with a key the one that speaks for it. A later claim never takes that from one that is active. */
  agentByKey(publicKey: Uint8Array): Promise<AgentRecord | null> {
    const work = async (db: Db) => {
      const tail = (await preferredTailOfKey(db, publicKey)) as Tail | undefined
      return tail === undefined ? null : recordByTail(db, tail)
    }
    return this.#read(work, (agent) => agent?.status === 'active')
  }

  async owner(id: number): Promise<OwnerRecord> {
    return (await this.#read((db) => findOwner(db, id), isThere)) ?? loadOwner(this.#primary, id)
  }

  /** @param suffices whether what a replica says can be relied on */
  async #read<T>(
    work: (db: Db) => Promise<T | null>,
    suffices: (found: T | null) => boolean,
  ): Promise<T | null> {
    const known = this.#lastChange()
    if (this.#replica !== null && known !== null) {
      const found = await this.#replica.read(known, work)
      // Something may have changed meanwhile, and been seen here.
      if (suffices(found) && this.#lastChange() === known) return found
    }
    return work(this.#primary)
  }
}

const isThere = (found: unknown) => found !== null

async function recordByTail(db: Db, tail: Tail): Promise<AgentRecord | null> {
  const row = await agentByTail(db, tail)
  return row === undefined ? null : loadRecord(db, row)
}

/** Where answers are kept. */
export interface Memory {
  readonly agents: AgentIndex
  readonly owners: OwnerCache
}

/**
 * Brings answers of point reads into memory. What has changed while one was read is newer than the answer, though memory
 * may have left it out again: that one is read once more, since no event would ever set the old answer right.
 */
export class CacheFiller {
  readonly #memory: () => Memory
  /** For each read under way the agents, by tail, and the owners, by number, that have changed since it began. */
  readonly #changed = new Set<Set<string | number>>()

  /** @param memory where the answers of a read that begins now belong */
  constructor(memory: () => Memory) {
    this.#memory = memory
  }

  /**
   * To be told before any of it is entered: a read might end after its agent was entered and left out again, and before
   * all of what comes with it is. Claims need not be told, as there is no row older than a claim.
   */
  tellChanged(tails: ReadonlySet<string>, owners: ReadonlySet<number>): void {
    for (const changed of this.#changed) {
      for (const tail of tails) changed.add(tail)
      for (const owner of owners) changed.add(owner)
    }
  }

  /** @returns what memory says once the answer is there, or null where there is no such agent */
  async agent(read: () => Promise<AgentRecord | null>): Promise<AgentRecord | null> {
    for (;;) {
      const { agents } = this.#memory()
      const { found, changed } = await this.#noting(read)
      if (found === null) return null
      if (changed.has(found.tail) && agents.byTail(found.tail) === null) continue
      agents.upsert(found)
      return agents.byTail(found.tail) ?? found
    }
  }

  async owner(id: number, read: () => Promise<OwnerRecord>): Promise<OwnerRecord> {
    for (;;) {
      const { owners } = this.#memory()
      const { found, changed } = await this.#noting(read)
      const known = owners.get(id)
      if (known !== undefined) return known
      if (changed.has(id)) continue
      owners.set(found)
      return found
    }
  }

  async #noting<T>(
    read: () => Promise<T>,
  ): Promise<{ readonly found: T; readonly changed: ReadonlySet<string | number> }> {
    const changed = new Set<string | number>()
    this.#changed.add(changed)
    try {
      return { found: await read(), changed }
    } finally {
      this.#changed.delete(changed)
    }
  }
}
