/* The rows of the transparency log. Times are milliseconds since the Unix epoch, hashes and keys raw bytes. */

/** A change that waits for its place in the log. */
export interface LogQueueRow {
  /** The sequence number of the event that records the change. */
  seq: number
  tail: string
  /** The owner of the agent, for quotas only; null once the owner is erased. */
  owner_id: number | null
  /** As in `entry`. */
  type: string
  /** JSON: the members of the entry that are known before it has a place. */
  entry: string
  /** JSON: what the commitment opens to. Null once the owner is erased. */
  evidence: string | null
  /** 0: at once. */
  not_before: number
}

/** A log under one origin and key. The one with the highest number is current. */
export interface LogEpochRow {
  epoch: number
  /** Never derived again: a changed BASE_URL does not rename a log. */
  origin: string
  public_key: Uint8Array
  created_at: number
  /** Entries that were committed, and the root of their tree. */
  size: number
  root: Uint8Array
  /** Entries under the newest signed checkpoint; 0: none yet. */
  published_size: number
  published_root: Uint8Array | null
  /** The signed note. */
  checkpoint: string | null
  published_at: number | null
  /** Agents up to this claim event are in the log. */
  backfilled_seq: number
  /** The entry from which on the log is complete; null: the agents from before are still being added. */
  complete_index: number | null
  complete_at: number | null
}

export interface LogEntryRow {
  epoch: number
  /** Its index in the log. */
  position: number
  /** Null: the entry is about the log itself. */
  tail: string | null
  /** The number of the claim, which the agent's row has as `seq`; null: the entry is of no claim, or came from a mirror. */
  claim: number | null
  /** Canonical JSON: the bytes that are hashed. */
  entry: string
  /** With the evidence, it opens the commitment. Null: nothing is committed to, or the owner was erased. */
  salt: Uint8Array | null
  /** JSON. */
  evidence: string | null
  /** The owner of the agent at that time, who may read the opening; null: the agent's owner. */
  opening_owner: number | null
}

/** A tile of hashes; the last one of a level has fewer than 256. */
export interface LogTileRow {
  epoch: number
  level: number
  position: number
  hashes: Uint8Array
}

/** The newest checkpoint that was signed, while it waits for cosignatures. Ignored unless it is larger than the published one. */
export interface LogPendingRow {
  epoch: number
  size: number
  root: Uint8Array
  /** The signed note, without cosignatures. */
  checkpoint: string
  signed_at: number
}

/** What a witness has answered about an epoch. */
export interface LogWitnessRow {
  epoch: number
  /** Its verifier key. */
  witness: string
  /** Entries under the last checkpoint that it has cosigned for this log. */
  size: number
  /** The signature line over that checkpoint; null: none. */
  cosignature: string | null
  /** When it has cosigned last; 0: never. */
  answered_at: number
  /** Not asked before: another process asks it, or it has failed. */
  not_before: number
  /** How often it has failed since it has cosigned last. */
  failures: number
  /** How it has failed last; null: it has not since it has cosigned. */
  failure: string | null
  /** Why it refuses the log; null: it does not. Stays until it cosigns again. */
  problem: string | null
}

/** A question of a node that does not know the newest state of the log, and the answer of one that does. Lives for a minute. */
export interface LogJoinRow {
  /** 32 random bytes, base64url. */
  nonce: string
  at: number
  /** JSON: the state, and the signature over it and the nonce by the key of the log. Null: nobody has answered yet. */
  answer: string | null
}

/** How many entries that count an owner has caused on a day. */
export interface LogQuotaRow {
  owner_id: number
  /** Days since 1970. */
  day: number
  entries: number
}

/* The rows of the witness of other logs. Times are milliseconds since the Unix epoch, hashes and keys raw bytes. */

/** A key of the witness. The one with the highest number is current. */
export interface WitnessKeyRow {
  number: number
  /** Never derived again: a changed BASE_URL does not rename a witness. */
  name: string
  public_key: Uint8Array
  created_at: number
  /** Since when no node signs with it, because one has found that the database is behind what it has cosigned. Null: it signs. */
  halted_at: number | null
}

/** The newest checkpoint of a log that was cosigned. */
export interface WitnessedLogRow {
  origin: string
  size: number
  root: Uint8Array
  /** The note with the signature of the log and the cosignature. Null: the current key has not cosigned this log. */
  checkpoint: string | null
  cosigned_at: number
}
