import type { AgentStatus, ChannelFact, Tail, VerificationFact } from '@countersign/protocol'

/** What the service knows and may say of an agent. Times in milliseconds since 1970. */
export interface AgentRecord {
  readonly tail: Tail
  /** The current key, 32 bytes. */
  readonly publicKey: Uint8Array
  readonly ownerId: number
  /** Place in the order of claims. */
  readonly seq: number
  /** Sequence number of the last event about the agent: of two records, the higher one is the newer. */
  readonly version: number
  readonly status: AgentStatus
  readonly claimedAt: number
  readonly profile: AgentProfile
}

/** What few agents have changed since their claim: stored apart, so that a million agents stay small. */
export interface AgentProfile {
  /** The number of the current key among the agent's keys, from 1. */
  readonly keySequence: number
  readonly keyChangedAt: number
  readonly statusReason: string | null
  readonly statusChangedAt: number
  readonly updatedAt: number
  readonly username: string | null
  readonly displayName: string | null
  readonly description: string | null
  /** Which uploaded picture, or null: one drawn from the DID. */
  readonly avatar: string | null
  readonly channels: readonly ChannelFact[]
}

/** The profile of an agent of which nobody has changed anything. */
export function plainProfile(claimedAt: number): AgentProfile {
  return {
    keySequence: 1,
    keyChangedAt: claimedAt,
    statusReason: null,
    statusChangedAt: claimedAt,
    updatedAt: claimedAt,
    username: null,
    displayName: null,
    description: null,
    avatar: null,
    channels: [],
  }
}

/** The public side of an owner. */
export interface OwnerRecord {
  readonly id: number
  readonly username: string
  readonly displayName: string
  /** A deleted owner has no name any more; their agents are revoked. */
  readonly deleted: boolean
  /** Oldest first; what has expired may still be among them. */
  readonly verifications: readonly VerificationFact[]
  /** The strongest of them, expired or not: most questions end here. */
  readonly strongest: VerificationFact | null
}

/** An agent and who stands behind it: what every answer about an agent is made of. */
export interface AgentView {
  readonly agent: AgentRecord
  readonly owner: OwnerRecord
}
