import type { AgentStatus, Assurance, Grade, SignInMethod } from '@countersign/protocol'
import type { Kysely } from 'kysely'
import type {
  AgentKeyRow,
  ChannelCheckRow,
  ChannelLeaseRow,
  ChannelRow,
  RateCountRow,
} from './rows.ts'
import type { ConnectionStats, DatabaseState, TransactionEnd } from './stats.ts'

export type { AgentKeyRow, ChannelCheckRow, ChannelLeaseRow, ChannelRow }

/** Times are milliseconds since 1970, keys and hashes are raw bytes, everywhere in storage. */
export interface Tables {
  owners: OwnerRow
  identity_verifications: IdentityVerificationRow
  claim_tokens: ClaimTokenRow
  agents: AgentRow
  agent_keys: AgentKeyRow
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
  flows: FlowRow
  avatars: AvatarRow
  facts: { name: string; value: string }
  rate_counts: RateCountRow
}

export interface OwnerRow {
  id: number
  username: string
  display_name: string
  created_at: number
  /** What the username looks like: see `usernameSkeleton`. */
  username_skeleton: string | null
  /** What authenticators know the owner by (WebAuthn section 5.4.3): random, base64url; null before the first passkey. */
  user_handle: string | null
  /** The row stays, without a name, since revoked agents refer to it. */
  deleted_at: number | null
}

export interface IdentityVerificationRow {
  owner_id: number
  provider: string
  /** HMAC-SHA256(pepper, provider, issuer, subject): one human, one account, and no name kept. */
  subject_hash: Uint8Array
  pepper_id: string
  assurance: Assurance
  country: string | null
  verified_at: number
  expires_at: number | null
}

export interface ClaimTokenRow {
  /** SHA-256 of the token, which itself is never stored. */
  hash: Uint8Array
  owner_id: number
  created_at: number
  expires_at: number
  used_at: number | null
  superseded_at: number | null
}

export interface AgentRow {
  /** The sequence number of the claim: the order in which agents came. */
  seq: number
  tail: string
  /** The current key; former ones are in `agent_keys`. */
  public_key: Uint8Array
  /** The number of the current key among the agent's keys, from 1. */
  key_sequence: number
  /** When the current key became current; null: at the claim. */
  key_changed_at: number | null
  agent_id: string
  owner_id: number
  status: AgentStatus
  status_reason: string | null
  /** Who set the status: what the operator suspended, the owner cannot reactivate. */
  status_set_by: 'owner' | 'operator'
  /** 0 while not revoked, then `seq`: makes (public_key, agent_id) unique among what is not revoked. */
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
  /** Which picture there is, of those that there have been: part of its address. */
  avatar: string | null
  /** The grade that was last told: what it is now is computed, and a difference is an event. */
  grade: Grade
}

export interface EventRow {
  seq: number
  at: number
  type: string
  tail: string | null
  /** Whose agents the event concerns. Internal: never published. */
  owner_id: number | null
  /** JSON, public facts only. */
  facts: string
}

export interface JobRow {
  id: string
  kind: string
  subject: string
  run_at: number
  attempts: number
  /** When it was due first, where it has failed since: `run_at` is when it is tried again. */
  due_since: number | null
}

export interface PasskeyRow {
  /** base64url, as WebAuthn's JSON has it. */
  credential_id: string
  owner_id: number
  /** COSE. */
  public_key: Uint8Array
  counter: number
  /** JSON: a list of WebAuthn transports. */
  transports: string
  backed_up: 0 | 1
  name: string
  created_at: number
  last_used_at: number | null
}

export interface RecoveryCodeRow {
  hash: Uint8Array
  owner_id: number
  created_at: number
}

/** An account elsewhere that opens this one. */
export interface SignInIdentityRow {
  provider: string
  subject_hash: Uint8Array
  owner_id: number
  created_at: number
}

export interface SignInLinkRow {
  hash: Uint8Array
  owner_id: number
  expires_at: number
}

export interface SessionRow {
  /** SHA-256 of what the cookie holds. */
  hash: Uint8Array
  /** Names it on the account page. */
  id: string
  owner_id: number
  method: SignInMethod
  browser: string
  signed_in_at: number
  last_seen_at: number
  expires_at: number
}

/** Something begun in a browser that is to be completed there, once. */
export interface FlowRow {
  /** SHA-256 of what the cookie holds. */
  hash: Uint8Array
  kind: string
  owner_id: number | null
  provider: string | null
  /** What a provider's webhook calls it. */
  reference: string | null
  /** JSON. */
  state: string
  expires_at: number
}

interface AvatarRow {
  tail: string
  webp: Uint8Array
}

export type Db = Kysely<Tables>

/** A writing transaction. Inside one only `tx.db` is used, and only SQL is awaited. */
export interface Tx {
  readonly db: Db
  /** The next number of the event sequence, given out in commit order. */
  nextSeq(): number
}

/** What became of one of several that were done together. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/**
 * Does several writes of one kind in one transaction, so that they can share statements.
 * @returns their outcomes, in their order; an item whose outcome is an error has changed nothing
 * @throws if nothing of it may be committed: each item is then tried again by itself
 */
export type Batch<I, T> = (tx: Tx, items: readonly I[]) => Promise<Outcome<T>[]>

/**
 * What the service asks of a database. Writing transactions run one after another; those asked for at the same
 * time may be committed together, and none is answered before its commit is durable.
 */
export interface Database {
  readonly read: Db
  /** For small reads that somebody waits for: given up after a second. */
  readonly points: Db
  /** For following what others write, in a connection that nothing else keeps busy: given up after a second. */
  readonly eventReader: Db
  /**
   * Runs `work` in a writing transaction. Whatever it throws undoes its own changes and nothing else's. It may be run
   * a second time, after its changes were undone, so it changes nothing but the database.
   * @throws StorageFailure where it could not be committed
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Runs a write together with others of its kind that are asked for at the same time. */
  writeBatched<I, T>(batch: Batch<I, T>, item: I): Promise<T>
  /** Null where the data are in a file. */
  readonly connections: ConnectionStats | null
  /** How many writes have been asked for and not answered. */
  readonly waitingWrites: number
  /** Called after each transaction that wrote, or tried to. */
  onTransaction(listener: (end: TransactionEnd) => void): void
  /** Called after every commit, before the answers: caches follow the events here. */
  onCommit(listener: () => Promise<void>): void
  /** Whether another process has, or may have, written since the last call: costs next to nothing. */
  changedElsewhere(): boolean
  /** Called as soon as another process is known to have written. No more than a hint: some are never told. */
  onElsewhere(listener: () => void): void
  /** @throws Error where the database is damaged, or none that this service can work on */
  check(): Promise<void>
  /** What it is now, or was within the last second; answers within a second, whatever the database does. */
  state(): Promise<DatabaseState>
  close(): Promise<void>
}

/** The database itself failed: damage, a full disk, an I/O error, a lock held too long. Nothing was changed. */
export class StorageFailure extends Error {
  override readonly name: string = 'StorageFailure'
}

/** The connection was lost, or a wait given up, while a transaction was being committed: it may have been, or not. */
export class UnknownOutcome extends StorageFailure {
  override readonly name = 'UnknownOutcome'
}
