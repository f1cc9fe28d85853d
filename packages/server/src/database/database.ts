import type {
  AgentStatus,
  Assurance,
  CheckOutcome,
  Grade,
  KeyChange,
  StatusSetter,
  Tier,
} from '@countersign/protocol'
import type { Kysely } from 'kysely'
import type {
  GrantAssignmentRow,
  GrantIssuerRow,
  GrantUseRow,
  UsedNonceRow,
} from './schema/grant-rows.ts'
import type {
  AgentKeyRow,
  IssuerKeyReportRow,
  IssuerKeyRow,
  KeyRecoveryRow,
  SuspendedKeyRow,
} from './schema/key-rows.ts'
import type {
  LogEntryRow,
  LogEpochRow,
  LogPendingRow,
  LogQueueRow,
  LogQuotaRow,
  LogTileRow,
  LogWitnessRow,
  WitnessedLogRow,
  WitnessKeyRow,
} from './schema/log-rows.ts'
import type {
  AccountActivityRow,
  EmailAddressRow,
  EmailOutboxRow,
  EmailPreferenceRow,
  NotificationRow,
} from './schema/notification-rows.ts'
import type {
  ApiKeyRow,
  FlowRow,
  PasskeyRow,
  RecoveryCodeRow,
  SessionRow,
  SignInIdentityRow,
  SignInLinkRow,
} from './schema/sign-in-rows.ts'
import type { StatusEntryRow, StatusListRow } from './schema/status-rows.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from './schema/webhook-rows.ts'
import type { ConnectionStats, DatabaseState, TransactionEnd } from './stats.ts'

export type {
  AgentKeyRow,
  IssuerKeyReportRow,
  IssuerKeyRow,
  KeyRecoveryRow,
  SuspendedKeyRow,
} from './schema/key-rows.ts'
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

/**
 * The tables, as the newest migration leaves them. Times are milliseconds since the Unix epoch. Keys and hashes are raw
 * bytes.
 */
export interface Tables {
  owners: OwnerRow
  identity_verifications: IdentityVerificationRow
  claim_tokens: ClaimTokenRow
  agents: AgentRow
  agent_keys: AgentKeyRow
  suspended_keys: SuspendedKeyRow
  key_recoveries: KeyRecoveryRow
  status_lists: StatusListRow
  status_entries: StatusEntryRow
  channels: ChannelRow
  channel_checks: ChannelCheckRow
  channel_leases: ChannelLeaseRow
  events: EventRow
  jobs: JobRow
  passkeys: PasskeyRow
  recovery_codes: RecoveryCodeRow
  sign_in_identities: SignInIdentityRow
  sign_in_links: SignInLinkRow
  sessions: SessionRow
  api_keys: ApiKeyRow
  flows: FlowRow
  avatars: AvatarRow
  /** Settings that all nodes share. */
  settings: { name: string; value: string }
  rate_counts: RateCountRow
  released_usernames: ReleasedUsernameRow
  notifications: NotificationRow
  account_activity: AccountActivityRow
  email_addresses: EmailAddressRow
  email_preferences: EmailPreferenceRow
  email_outbox: EmailOutboxRow
  webhook_endpoints: WebhookEndpointRow
  webhook_deliveries: WebhookDeliveryRow
  issuer_keys: IssuerKeyRow
  issuer_key_reports: IssuerKeyReportRow
  grant_issuers: GrantIssuerRow
  grant_assignments: GrantAssignmentRow
  grant_uses: GrantUseRow
  used_nonces: UsedNonceRow
  log_queue: LogQueueRow
  log_epochs: LogEpochRow
  log_entries: LogEntryRow
  log_tiles: LogTileRow
  log_quotas: LogQuotaRow
  log_pending: LogPendingRow
  log_witnesses: LogWitnessRow
  witness_keys: WitnessKeyRow
  witnessed_logs: WitnessedLogRow
}

export interface OwnerRow {
  id: number
  username: string
  display_name: string
  created_at: number
  /** See `usernameSkeleton`: usernames that look alike have the same one. */
  username_skeleton: string | null
  /** The user handle of WebAuthn section 5.4.3: random, base64url. Null before the first passkey. */
  user_handle: string | null
  /** A deleted owner's row stays, without its name, because revoked agents refer to it. */
  deleted_at: number | null
  /** Since when the operator has suspended the owner; null: not suspended. */
  suspended_at: number | null
  /** A machine-readable word, or null. */
  suspension_reason: string | null
  /** When the username or display name last changed. Null: never. */
  name_changed_at: number | null
  /** When the owner first copied the code of a badge. Null: never. */
  badge_copied_at: number | null
  /** Since when the owner has hidden the checklist of first steps. Null: it is shown. */
  onboarding_hidden_at: number | null
}

export interface IdentityVerificationRow {
  owner_id: number
  provider: string
  /** HMAC-SHA256(pepper, provider, issuer, subject). Identifies a human without storing a name. */
  subject_hash: Uint8Array
  pepper_id: string
  assurance: Assurance
  country: string | null
  verified_at: number
  expires_at: number | null
  /** The name that the provider verified. Null unless the owner chose to publish it. */
  published_name: string | null
}

export interface ClaimTokenRow {
  /** SHA-256 of the token. The token itself is never stored. */
  hash: Uint8Array
  owner_id: number
  created_at: number
  expires_at: number
  used_at: number | null
  superseded_at: number | null
  /** The place in its batch, from 0. */
  position: number
}

export interface AgentRow {
  /** The sequence number of the claim event. */
  seq: number
  tail: string
  /** The current key; former ones are in `agent_keys`. */
  public_key: Uint8Array
  /** The number of the current key among the agent's keys, from 1. */
  key_sequence: number
  /** When the current key became current; null: at the claim. */
  key_changed_at: number | null
  /** The JWK thumbprint of the current key. Whatever changes `public_key` sets it too. */
  key_thumbprint: Uint8Array
  /** How the current key became current; null: by the claim. */
  key_changed_by: KeyChange | null
  agent_id: string
  owner_id: number
  status: AgentStatus
  status_reason: string | null
  /** An owner can reactivate an agent only if they suspended it themselves. */
  status_set_by: StatusSetter
  /** 0 until revoked, then `seq`: makes (public_key, agent_id) unique among agents that are not revoked. */
  pair_slot: number
  claimed_at: number
  status_changed_at: number
  updated_at: number
  /** The sequence number of the last event about this agent. */
  version: number
  username: string | null
  display_name: string | null
  description: string | null
  username_skeleton: string | null
  /** Version of the picture, part of its URL. Null: no picture. */
  avatar: string | null
  /** JSON: the last signature of the agent over its key set (`agents/keys/key-set-routes.ts`). Null: none. */
  directory_proof: string | null
  /** The grade of the last `agent.grade_changed` event. The current grade is computed; a difference raises the next event. */
  grade: Grade
}

export interface ChannelRow {
  id: string
  tail: string
  kind: string
  handle_or_domain: string
  tier: Tier
  created_at: number
  /** The token that the owner has to publish. Public once published. Null once it has proven the channel. */
  proof_token: string | null
  proof_expires_at: number | null
  /** The token of the last proof, which the daily checks look for. */
  proven_token: string | null
  /** The method of the last proof. */
  proven_by: string | null
  /** When a new token last proved the channel. Null: never. */
  verified_at: number | null
  /** When a check last found the proof. */
  checked_at: number | null
  /** When the proof goes stale unless a new token proves the channel again. */
  fresh_until: number | null
  /** Since when the proof has been stale. */
  stale_since: number | null
  /** Consecutive checks without the proof, with the time of the first and of the last that was counted. */
  failures: number
  failing_since: number | null
  failed_at: number | null
}

export interface ChannelCheckRow {
  channel_id: string
  at: number
  outcome: CheckOutcome
  /** JSON: what each perspective observed. */
  perspectives: string
}

/** When a channel is checked next, and which node is checking it now. */
export interface ChannelLeaseRow {
  channel_id: string
  /** Null: no check is scheduled. */
  due_at: number | null
  /** Random identifier of the check that holds the lease. */
  leased_by: string | null
  held_until: number
}

export interface EventRow {
  seq: number
  at: number
  type: string
  tail: string | null
  /** The owner of the agents that the event concerns. Internal: never published. */
  owner_id: number | null
  /** A JSON object of public data. */
  payload: string
}

export interface JobRow {
  id: string
  kind: string
  subject: string
  /** When the next attempt is due. */
  run_at: number
  attempts: number
  /** When the first attempt was due, if it failed. Null before that. */
  due_since: number | null
}

interface AvatarRow {
  tail: string
  webp: Uint8Array
}

/** A rate limit that is partly used. A row is deleted once its limit is whole again. */
export interface RateCountRow {
  /** HMAC of what is counted, so that no address can be read from it. */
  key: Uint8Array
  /** When the limit is whole again, in milliseconds since the Unix epoch, with fractions. */
  whole_at: number
  /** 1: the last request was allowed. */
  taken: number
}

/** A username that was given up. Until `available_at`, only its previous owner can take it or a lookalike. */
export interface ReleasedUsernameRow {
  /** SHA-256 of the namespace and the skeleton, so that names of deleted accounts are not stored. */
  hash: Uint8Array
  /** The previous owner; of an agent's username, the owner of the agent. */
  owner_id: number
  available_at: number
}

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
