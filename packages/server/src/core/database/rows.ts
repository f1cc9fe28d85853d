import type { CheckOutcome, Tier } from '@countersign/protocol'

/** A key that an agent no longer uses. Times are milliseconds since 1970. */
export interface AgentKeyRow {
  tail: string
  /** The number of the key among the agent's keys, from 1. */
  sequence: number
  /** 32 bytes. */
  public_key: Uint8Array
  /** `retired` concerns this agent alone. `compromised` concerns the key, whichever agents have or had it. */
  state: 'retired' | 'compromised'
  valid_from: number
  valid_until: number
}

export interface ChannelRow {
  id: string
  tail: string
  kind: string
  handle_or_domain: string
  tier: Tier
  created_at: number
  /** What the owner has been asked to place, until it has proven the channel; it is public once it is placed. */
  proof_token: string | null
  proof_expires_at: number | null
  /** What the daily checks look for: the token that proved it last. */
  proven_token: string | null
  /** The method by which it did. */
  proven_by: string | null
  /** When a fresh token last proved it; null: never. */
  verified_at: number | null
  /** When its proof was last seen. */
  checked_at: number | null
  /** Until when it counts without a fresh token. */
  fresh_until: number | null
  /** Since when it counts no more. */
  stale_since: number | null
  /** How often in a row its proof was missing, and since when, and when it was last counted. */
  failures: number
  failing_since: number | null
  failed_at: number | null
}

export interface ChannelCheckRow {
  channel_id: string
  at: number
  outcome: CheckOutcome
  /** JSON: what each perspective saw. */
  perspectives: string
}

/** When a channel is to be checked, and who is at it. */
export interface ChannelLeaseRow {
  channel_id: string
  /** Null: not by itself. */
  due_at: number | null
  /** Random, for one check. */
  holder: string | null
  held_until: number
}

/** A quota that is not whole. */
export interface RateCountRow {
  /** HMAC of what is counted: no address can be read from it. */
  key: Uint8Array
  /** When it will be, in milliseconds since 1970. */
  whole_at: number
  /** 1: the last who asked got one. */
  taken: number
}
