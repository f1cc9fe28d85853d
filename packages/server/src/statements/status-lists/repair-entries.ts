import { factsOfVerification, verificationsOfOwner } from '../../accounts/verification-table.ts'
import { agentByTail } from '../../agents/agent-table.ts'
import { isStillVerified, type StatedVerification } from '../../agents/changes/certified-content.ts'
import { regradeAgent } from '../../agents/changes/regrade.ts'
import { invalidateEntry } from '../../agents/changes/revise-status-entry.ts'
import {
  currentEntriesOf,
  statedVerifications,
  tailsStating,
} from '../../agents/changes/status-entry-table.ts'
import { isCompromised } from '../../agents/keys/agent-key-table.ts'
import type { Database, Db, EventRow, Tx } from '../../database/database.ts'
import { type EventType, eventsAfter, lastSeq } from '../../database/event-table.ts'
import { readSetting, writeSetting } from '../../database/settings-table.ts'

/** The setting with the number of the last event whose agent was compared with its entry. */
const POSITION = 'status_repair_position'
/** Events that are read again after a restart, at most. */
const MOST_UNSAVED = 10_000
/** Events, and agents of one owner, that one transaction handles. */
const BATCH_SIZE = 200

/** Events of changes that the entry of an agent must show. */
const AGENT_CHANGES: ReadonlySet<string> = new Set<EventType>([
  'agent.suspended',
  'agent.reactivated',
  'agent.revoked',
  'agent.grade_changed',
  'agent.key_compromised',
  'agent.key_rotated',
  'agent.key_contested',
  'agent.key_recovered',
])
/** Events of changes that the entries of all agents of an owner must show. */
const OWNER_CHANGES: ReadonlySet<string> = new Set<EventType>([
  'owner.identity_verified',
  'owner.identity_expired',
])

interface RepairDeps {
  readonly db: Database
  readonly now: () => number
}

/**
 * Brings entries up to date after changes by the release before. In a rolling upgrade, or after a rollback, its nodes change
 * agents and append events, but know no status lists.
 */
export class EntryRepair {
  readonly #deps: RepairDeps
  /** The last event that needed no repair. In memory, so that ordinary changes cause no writes. */
  #seen = 0

  constructor(deps: RepairDeps) {
    this.#deps = deps
  }

  /** Follows the events to their end. @param stopping ends it after the current batch; the next call goes on from there */
  async run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted && (await this.#runBatch()));
  }

  /** Of several nodes, the one that moves the stored position repairs a batch. @returns whether there may be more */
  async #runBatch(): Promise<boolean> {
    const { db, now } = this.#deps
    const position = await readSetting(db.read, POSITION)
    const stored = Number(position ?? 0)
    const events = await eventsAfter(db.read, Math.max(stored, this.#seen), BATCH_SIZE)
    const last = events.at(-1)
    if (last === undefined) {
      // A failover may have lost events, whose numbers are used again.
      if ((await lastSeq(db.read)) < this.#seen) this.#seen = 0
      return false
    }
    const isFull = events.length === BATCH_SIZE
    const [tails, owners] = await withEntries(db.read, events)
    if (tails.length === 0 && owners.length === 0 && last.seq - stored < MOST_UNSAVED) {
      this.#seen = last.seq
      return isFull
    }
    return db.write(async (tx) => {
      if ((await readSetting(tx.db, POSITION)) !== position) return true
      for (const tail of tails) await repair(tx, tail, now())
      for (const ownerId of owners) {
        // The same events are read again, until no agent of the owner is left.
        if (!(await repairOwner(tx, ownerId, now()))) return true
      }
      await writeSetting(tx, POSITION, String(last.seq))
      return isFull
    })
  }
}

/** The agents and the owners of whom events tell that may have entries to repair. */
async function withEntries(
  db: Db,
  events: readonly EventRow[],
): Promise<[tails: string[], owners: number[]]> {
  const entries = await currentEntriesOf(db, tailsOf(events))
  const owners: number[] = []
  for (const ownerId of ownersOf(events)) {
    if ((await statedVerifications(db, ownerId)).length > 0) owners.push(ownerId)
  }
  return [entries.map(({ tail }) => tail), owners]
}

function tailsOf(events: readonly EventRow[]): string[] {
  const changes = events.filter(({ type }) => AGENT_CHANGES.has(type))
  return [...new Set(changes.flatMap(({ tail }) => tail ?? []))]
}

function ownersOf(events: readonly EventRow[]): number[] {
  const changes = events.filter(({ type }) => OWNER_CHANGES.has(type))
  return [...new Set(changes.flatMap(({ owner_id }) => owner_id ?? []))]
}

/** Writes nothing if the entry is up to date. */
async function repair(tx: Tx, tail: string, at: number): Promise<void> {
  const agent = await agentByTail(tx.db, tail)
  if (agent === undefined) return
  if (await isCompromised(tx.db, agent.public_key)) await invalidateEntry(tx, tail, at)
  else await regradeAgent(tx, agent, at)
}

/** @returns whether it has repaired all agents of the owner */
async function repairOwner(tx: Tx, ownerId: number, at: number): Promise<boolean> {
  for (const lost of await lostVerifications(tx.db, ownerId, at)) {
    const tails = await tailsStating(tx.db, ownerId, lost, BATCH_SIZE)
    for (const tail of tails) await repair(tx, tail, at)
    if (tails.length === BATCH_SIZE) return false
  }
  return true
}

/** Verifications that certificates of the owner's agents state, and that the owner no longer has. */
async function lostVerifications(
  db: Db,
  ownerId: number,
  at: number,
): Promise<StatedVerification[]> {
  const stated = await statedVerifications(db, ownerId)
  if (stated.length === 0) return []
  const verifications = (await verificationsOfOwner(db, ownerId)).map(factsOfVerification)
  return stated.filter((each) => !isStillVerified(each, verifications, at))
}
