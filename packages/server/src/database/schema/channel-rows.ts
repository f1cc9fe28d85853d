import type { CheckOutcome, Tier } from '@countersign/protocol'

/* The rows of channels. Times are milliseconds since the Unix epoch. Keys and hashes are raw bytes. */

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
