import type { Kysely } from 'kysely'
import type { Tables } from './schema/tables.ts'
import type { ConnectionStats, DatabaseState, TransactionEnd } from './stats.ts'

export type { AgentRow, ClaimTokenRow } from './schema/agent-rows.ts'
export type { ChannelCheckRow, ChannelLeaseRow, ChannelRow } from './schema/channel-rows.ts'
export type {
  AgentKeyRow,
  IssuerKeyReportRow,
  IssuerKeyRow,
  KeyRecoveryRow,
  SuspendedKeyRow,
} from './schema/key-rows.ts'
export type { IdentityVerificationRow, OwnerRow, ReleasedUsernameRow } from './schema/owner-rows.ts'
export type { EventRow, JobRow, RateCountRow } from './schema/shared-rows.ts'
export type {
  ApiKeyRow,
  FlowRow,
  PasskeyRow,
  RecoveryCodeRow,
  SessionRow,
  SignInIdentityRow,
  SignInLinkRow,
} from './schema/sign-in-rows.ts'
export type { StatusEntryRow, StatusListRow } from './schema/status-rows.ts'
export type { Tables } from './schema/tables.ts'

/** Kysely over this schema. Queries on it reject with `StorageFailure` if the database itself fails. */
export type Db = Kysely<Tables>

/**
 * A write transaction. Use only `tx.db` inside one, and await only SQL: the outer database would deadlock, and other
 * writers wait until the transaction ends.
 */
export interface Tx {
  readonly db: Db
  /** @returns the next sequence number of `events`. Sequence numbers are in commit order and have no gaps. */
  nextSeq(): number
  /** Runs within the transaction what other rooms do about a change. */
  readonly effects: Effects
  /** False: the log has the changes already, and owners were notified of them (`log recover`). */
  readonly isLogged?: false
}

/**
 * What follows from a change, in the same transaction, in rooms that the changed room may not import. The room that announces
 * a kind of change adds a member by declaration merging, and `service/effects.ts` lists what follows. It is a parameter of
 * `openDatabase`, so nothing can write without it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: rooms add members by declaration merging
export interface Effects {}

/** The result of one write of a batch. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/**
 * Does several writes of one kind in one transaction, so that they can share statements.
 * @returns their outcomes, in their order; an item whose outcome is an error has changed nothing
 * @throws if nothing of it may be committed: each item is then tried again by itself
 */
export type Batch<I, T> = (tx: Tx, items: readonly I[]) => Promise<Outcome<T>[]>

/**
 * What the service needs from a database. SQLite and PostgreSQL implement it.
 *
 * Write transactions run one after another, across all processes that share the database. Writes requested at the same
 * time share a transaction where possible. No write resolves before its commit is durable, and no read sees a change
 * before it is committed.
 */
export interface Database {
  /** For reads of any size. Sees only committed data. */
  readonly read: Db
  /** For small reads that a request waits for. Each fails with `StorageFailure` after one second (PostgreSQL only). */
  readonly pointReads: Db
  /**
   * For reading new events, on a connection that no other read occupies. Each read fails with `StorageFailure` after one
   * second (PostgreSQL only).
   */
  readonly eventReader: Db
  /**
   * Runs `work` in a write transaction. If `work` throws, its own changes are rolled back and nothing else.
   * @param work may run twice, with the changes of the first run rolled back, so it must have no effect but on the
   *   database
   * @returns what `work` returns, once it is durable
   * @throws StorageFailure if nothing was changed because the database failed
   * @throws UnknownOutcome if the commit may or may not have happened
   * @throws whatever `work` throws
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs a write together with others of its kind that are asked for at the same time. */
  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T>
  /**
   * Removes what deleted and overwritten rows have left: copies in the write-ahead log (SQLite), row versions in `tables`
   * (PostgreSQL). May take as long as a vacuum.
   * @returns false if it was not possible now, because others write or read; try again
   * @throws StorageFailure
   */
  removeDeleted(tables: readonly (keyof Tables)[]): Promise<boolean>
  /** Read connections in use. Null for SQLite. */
  readonly connections: ConnectionStats | null
  /** Writes requested but not yet resolved. */
  readonly waitingWrites: number
  /** Calls `listener` after each write transaction, failed ones included. */
  onTransaction(listener: (end: TransactionEnd) => void): void
  /** Awaits `listener` after each commit, before the writes of the transaction resolve. Caches read new events here. */
  onCommit(listener: () => Promise<void>): void
  /** Whether another process may have written since the last call. Cheap enough to poll; false only if none has. */
  mayHaveExternalWrites(): boolean
  /** Calls `listener` when another process reports a write. A hint only: some writes are never reported. */
  onExternalWrite(listener: () => void): void
  /** @throws Error that says what is wrong, if the database is damaged or unsuitable for the service */
  check(): Promise<void>
  /** @returns the current state, at most about a second old. Resolves within a second even if the database hangs. */
  state(): Promise<DatabaseState>
  /** Completes the writes that were requested, rejects new ones, and closes all connections. */
  close(): Promise<void>
}

/** Read access for diagnosis, whatever the version of the schema. Nothing is created, migrated or written. */
export interface Inspection {
  readonly db: Db
  /** @throws Error that says what is wrong, if the service could not run on this database */
  check(): Promise<void>
}

/** The database itself failed: damage, a full disk, an I/O error, a lost connection, a lock timeout. Nothing was changed. */
export class StorageFailure extends Error {
  override readonly name: string = 'StorageFailure'
}

/** The connection was lost, or a wait was given up, during a commit: the write may have been committed or not. */
export class UnknownOutcome extends StorageFailure {
  override readonly name = 'UnknownOutcome'
}
