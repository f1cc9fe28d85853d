import type { Db, EventRow } from './database.ts'

/** Copies of the database that follow it, and may be behind: they are asked for what they are sure to know. */
export interface Replica {
  /**
   * Reads from a copy that shows an event, and with it all that came before.
   * @returns what `work` resolves to, or null where none shows it yet, or answers in time
   */
  read<T>(known: EventRow, work: (db: Db) => Promise<T | null>): Promise<T | null>
  /** Whether a copy shows an event: `behind` where those that answer do not, `down` where none answers. */
  standing(known: EventRow | null): Promise<ReplicaStanding>
  close(): Promise<void>
}

export type ReplicaStanding = 'current' | 'behind' | 'down'
