/** Connections for reading, and how many reads wait for one. */
export interface ConnectionStats {
  readonly busy: number
  readonly idle: number
  readonly waiting: number
}

/** What became of a transaction and of the writes that it carried. */
export interface TransactionEnd {
  /** `undone`: there was nothing left to commit. */
  readonly end: 'committed' | 'undone' | 'failed' | 'unknown'
  readonly writes: number
  /** How many of the writes threw, and undid themselves. */
  readonly undone: number
  /** From its beginning, a wait for its turn among processes included, to its being durable. */
  readonly seconds: number
}

/** What the database is, as far as it could be asked. */
export interface DatabaseState {
  /** `file`: one file on this machine, of which nothing follows. `unreachable`: no primary answers in time. */
  readonly role: 'file' | 'primary' | 'unreachable'
  readonly commits: CommitState
  readonly standbys: readonly StandbyState[]
}

export interface CommitState {
  /** What an acknowledged write is known to be on. */
  readonly waitFor: 'disk' | 'standby' | 'unknown'
  /** Whether what they wait for is there: where it is not, no write is answered. Null: this user may not see it. */
  readonly satisfied: boolean | null
}

interface StandbyState {
  /** Its `application_name`. */
  readonly name: string
  /** `pg_stat_replication.state`. */
  readonly state: string
  /** `pg_stat_replication.sync_state`. */
  readonly sync: string
  /** What it has not replayed yet of what the primary has written. */
  readonly lagBytes: number | null
  /** How long ago the primary wrote what the standby has replayed last; null while nothing happens. */
  readonly lagMs: number | null
}

export const FILE_STATE: DatabaseState = {
  role: 'file',
  commits: { waitFor: 'disk', satisfied: true },
  standbys: [],
}

export const UNREACHABLE: DatabaseState = {
  role: 'unreachable',
  commits: { waitFor: 'unknown', satisfied: null },
  standbys: [],
}
