/** Read connections, and reads that wait for one. */
export interface ConnectionStats {
  readonly busy: number
  readonly idle: number
  readonly waiting: number
}

/** How a write transaction ended. */
export interface TransactionEnd {
  /** `undone`: all its writes threw. `unknown`: it may or may not have been committed. */
  readonly end: 'committed' | 'undone' | 'failed' | 'unknown'
  readonly writes: number
  /** How many of the writes threw and were rolled back. */
  readonly undone: number
  /** From the request to begin until the changes are durable. Includes the wait for other processes. */
  readonly seconds: number
}

/** The state of the database, as far as this user may see it. */
export interface DatabaseState {
  /** `file`: a SQLite file, which has no standbys. `unreachable`: no primary answers in time. */
  readonly role: 'file' | 'primary' | 'unreachable'
  readonly commits: CommitState
  readonly standbys: readonly StandbyState[]
}

export interface CommitState {
  /** Where a write must be durable before it is acknowledged. */
  readonly waitFor: 'disk' | 'standby' | 'unknown'
  /** Whether the required standbys are connected. If false, no write is acknowledged. Null: this user may not see it. */
  readonly satisfied: boolean | null
}

interface StandbyState {
  /** Its `application_name`. */
  readonly name: string
  /** `pg_stat_replication.state`. */
  readonly state: string
  /** `pg_stat_replication.sync_state`. */
  readonly sync: string
  /** Write-ahead log that the primary has written and the standby has not replayed. Null: unknown. */
  readonly lagBytes: number | null
  /** Time between a write on the primary and its replay. Null while the primary is idle. */
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
