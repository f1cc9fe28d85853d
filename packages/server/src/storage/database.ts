import type { AgentStatus, Assurance, Tier } from '@countersign/protocol'
import type { Kysely } from 'kysely'

/** Times are milliseconds since 1970, keys and hashes are raw bytes, everywhere in storage. */
export interface Tables {
  owners: OwnerRow
  identity_verifications: IdentityVerificationRow
  claim_tokens: ClaimTokenRow
  agents: AgentRow
  channels: ChannelRow
  events: EventRow
  jobs: JobRow
}

export interface OwnerRow {
  id: number
  username: string
  display_name: string
  created_at: number
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
  public_key: Uint8Array
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
}

export interface ChannelRow {
  id: string
  tail: string
  kind: string
  handle_or_domain: string
  tier: Tier
  verified_at: number
  checked_at: number
  fresh_until: number | null
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
}

export type Db = Kysely<Tables>

/** A writing transaction. Inside one only `tx.db` is used, and only SQL is awaited. */
export interface Tx {
  readonly db: Db
  /** The next number of the event sequence, given out in commit order. */
  nextSeq(): number
}

/**
 * What the service asks of a database. Writing transactions run one after another; those asked for at the same
 * time may be committed together, and none is answered before its commit is durable.
 */
export interface Database {
  readonly read: Db
  /**
   * Runs `work` in a writing transaction. Whatever it throws undoes its own changes and nothing else's. It may be run
   * a second time, after its changes were undone, so it changes nothing but the database.
   * @throws StorageFailure where it could not be committed
   */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Called after every commit, before the answers: caches follow the events here. */
  onCommit(listener: () => Promise<void>): void
  /** Whether another process has written since the last call: costs next to nothing. */
  changedElsewhere(): boolean
  /** @throws Error where the file is damaged */
  check(): void
  /** Copies a consistent state to a new file, while others read and write. */
  backup(file: string): Promise<void>
  close(): Promise<void>
}

/** The database itself failed: damage, a full disk, an I/O error, a lock held too long. Nothing was changed. */
export class StorageFailure extends Error {
  override readonly name = 'StorageFailure'
}
