import type { KeyChange, RecoveryReason } from '@countersign/protocol'

/** A key that an agent no longer uses. */
export interface AgentKeyRow {
  tail: string
  /** The number of the key among the agent's keys, from 1. */
  sequence: number
  /** 32 bytes; of a lost key: its thumbprint, for which nobody has a private key. */
  public_key: Uint8Array
  /**
   * `retired` and `renounced` concern this agent only. A `renounced` key is not reserved to its owner. `compromised` concerns the
   * key, whichever agents have or had it. `lost`: a restored database does not have the key.
   */
  state: 'retired' | 'renounced' | 'compromised' | 'lost'
  valid_from: number
  valid_until: number
  /** How it became current; null: by the claim. */
  changed_by: KeyChange | null
}

/** A key that the operator has suspended, whichever agents have or had it. */
export interface SuspendedKeyRow {
  /** 32 bytes. */
  public_key: Uint8Array
  reason: string | null
  suspended_at: number
}

/** A recovery that has not taken effect. An agent has at most one. */
export interface KeyRecoveryRow {
  tail: string
  reason: RecoveryReason
  started_at: number
  /** SHA-256 of the recovery token. A fresh token replaces it. */
  token_hash: Uint8Array
  token_expires_at: number
  token_used_at: number | null
  /** 32 bytes; null until an agent has redeemed the token. */
  new_key: Uint8Array | null
  redeemed_at: number | null
  /** When the new key becomes current. */
  effective_at: number | null
  /** The membership of who started it; null: a person, for an agent of their own. */
  started_by: string | null
}

/**
 * `published`: in the key set, does not sign yet. `active`: signs. `retired`: in the key set, signs no more. `removed` and
 * `compromised`: no longer in the key set.
 */
type IssuerKeyState = 'published' | 'active' | 'retired' | 'removed' | 'compromised'

/** A pair of keys that sign certificates and status lists. At most one row is `active`. */
export interface IssuerKeyRow {
  /** The JWK thumbprint of the Ed25519 key; the file of the private keys is named after it. */
  id: string
  /** JSON: the two public keys, as the key set has them. */
  jwks: string
  state: IssuerKeyState
  published_at: number
  activated_at: number | null
  /** When it was retired or reported as compromised. */
  ended_at: number | null
  /** When a retired key leaves the key set. */
  remove_at: number | null
}

/** A node's report about a published key, while a rotation is under way. */
export interface IssuerKeyReportRow {
  key_id: string
  /** Random for each process. */
  node: string
  /** Since when the node publishes the key and has its file; null: it has no file. */
  held_since: number | null
  seen_at: number
}
