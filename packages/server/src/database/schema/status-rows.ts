import type { Assurance, Grade, StatusValue } from '@countersign/protocol'

/** A token status list. */
export interface StatusListRow {
  /** Its number, which is random: after a restore, no new list gets the number of a list that was lost. */
  list: number
  /** How many entries have a row. */
  allocated: number
  /** 1: events were lost while it was in use. Its entries without a row are invalid, and none is allocated. */
  is_closed: 0 | 1
}

/** An entry of a status list, to which certificates of one agent with one content refer. It is never reused. */
export interface StatusEntryRow {
  list: number
  idx: number
  tail: string
  /** The key, the owner's identity and the depth of chains that a certificate with this entry may state at most. */
  key_sequence: number
  grade: Grade
  identity_method: string | null
  assurance: Assurance | null
  delegation_depth: number
  value: StatusValue
  /** 1: the agent's next certificate refers to it. */
  is_current: 0 | 1
  /** The sequence number of the last event about the entry. */
  changed_seq: number
  allocated_at: number
}

/** A group of delegations: a certificate of an agent with an entry of its own. The row is deleted 24 hours after it expires. */
export interface DelegationRow {
  /** 128 random bits in hexadecimal. */
  id: string
  tail: string
  list: number
  idx: number
  /** The agent's text for its owner. */
  label: string
  created_at: number
  expires_at: number
  ended_at: number | null
  /** `service`: it ended with a change of the agent. */
  ended_by: 'agent' | 'owner' | 'service' | null
}

/** A change of an entry, as the feed states it. Without its time, which would tell which agents changed together. */
export interface FeedChangeRow {
  epoch: string
  /** From 1 in each epoch, without gaps. */
  n: number
  list: number
  idx: number
  value: StatusValue
  /** 32 bytes: SHA-256 over all changes of the epoch up to this one. */
  chain: Uint8Array
  /** UTC days since 1970, to delete it after 30. */
  day: number
}
