import type { Tail } from '@countersign/protocol'
import { agentByTail, chosenTailOfKey } from '../../storage/agents.ts'
import type { Db, EventRow } from '../../storage/database.ts'
import type { Replica } from '../../storage/replica.ts'
import type { AgentRecord, OwnerFacts } from '../agent-record.ts'
import { findOwner, loadOwner, loadRecord } from './rows.ts'

/**
 * Asks for what is not in memory: a replica where that is sure to know of every change that this node knows of, else
 * the primary. What a replica lacks may not have arrived there, so that only the primary says that there is none.
 */
export class PointReads {
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
      const tail = (await chosenTailOfKey(db, publicKey)) as Tail | undefined
      return tail === undefined ? null : recordByTail(db, tail)
    }
    return this.#read(work, (agent) => agent?.status === 'active')
  }

  async owner(id: number): Promise<OwnerFacts> {
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
