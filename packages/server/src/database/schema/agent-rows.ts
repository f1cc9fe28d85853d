import type { AgentStatus, Grade, KeyChange, StatusActor } from '@countersign/protocol'

/* The rows of agents. Times are milliseconds since the Unix epoch. Keys and hashes are raw bytes. */

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
  /** The membership of who issued it; empty: a person, for their own account. */
  issued_by: string
}

export interface AgentRow {
  /** The sequence number of the claim event. */
  seq: number
  tail: string
  /** The current key; former ones are in `agent_keys`. The thumbprint, if the key was lost in a restore (`isKeyLost`). */
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
  status_set_by: StatusActor
  /** 0 until revoked, then `seq`: makes (public_key, agent_id) unique among agents that are not revoked. */
  pair_slot: number
  /** When an agent that its key has renounced is revoked; null: it has not. */
  renounce_final_at: number | null
  claimed_at: number
  status_changed_at: number
  /** `day`: the public sees only the day of the last change, since many agents changed at once. */
  status_time: 'exact' | 'day'
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
  /** How many hops a chain of the agent may have, 0 to 3. */
  delegation_depth: number
  /** The membership of the responsible person, which may have ended; empty: nobody; null: the owner is a person. */
  responsible: string | null
  /** When another owner last took it over; null: never. */
  owner_changed_at: number | null
  /** Whether the agent may ask its owner for approvals. */
  approvals: 0 | 1
}

export interface AvatarRow {
  tail: string
  webp: Uint8Array
}
