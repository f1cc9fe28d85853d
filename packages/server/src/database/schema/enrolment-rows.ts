/* The rows of enrolment. Times are milliseconds since the Unix epoch. */

/** A rule by which an owner accepts the tokens of a platform. */
export interface EnrolmentRuleRow {
  /** `er_` and 22 base58 characters. */
  id: string
  owner_id: number
  name: string
  /** Compared with `iss`. Null: any, in a trust domain. */
  issuer: string | null
  /** A SPIFFE trust domain, or null. */
  trust_domain: string | null
  /** JSON: `EnrolmentKeys`. */
  keys: string
  /** JSON: `Match`. */
  match: string
  binding: 'key' | 'token'
  /** The label of its agents, or null: that of a claim. */
  agent_label: string | null
  /** The JSON Pointer of the claim, or null. */
  agent_label_claim: string | null
  max_live: number
  unseen_after_seconds: number
  max_token_seconds: number
  /** Of each new agent. */
  display_name: string | null
  description: string | null
  /** `deleted`: its agents go on until they are unseen for too long. */
  state: 'active' | 'paused' | 'deleted'
  /** The membership of who made it; null: a person, for their own account. */
  created_by: string | null
  /** The membership of who is responsible for its new agents; null: the owner is a person. */
  responsible: string | null
  created_at: number
  /** When it last enrolled or renewed anybody, or was made or resumed. A rule that is forgotten admits nobody. */
  admitted_at: number
  last_enrolled_at: number | null
  refused_at: number | null
  refused_check: string | null
  keys_read_at: number | null
  /** Since when the keys of the issuer cannot be read; null: they can. */
  keys_failed_at: number | null
  keys_problem: string | null
}

/** An agent that a workload has enrolled. */
export interface EnrolmentRow {
  tail: string
  rule_id: string
  owner_id: number
  /** JSON: issuer, subject and what was matched. */
  claims: string
  created_at: number
  /** When it last enrolled. */
  seen_at: number
  /** The `seen_at` for which the end was put off once, because the service was down when it was due. */
  grace_at: number | null
  /** When the agent ends, unless it enrols again. */
  ends_at: number
  ended_at: number | null
}

export interface EnrolmentTokenRow {
  /** SHA-256 of the token up to its last dot. */
  hash: Uint8Array
  /** Of the key that used it. */
  thumbprint: string
  expires_at: number
}
