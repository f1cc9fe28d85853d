import {
  type AgentStatus,
  type ChannelEvidence,
  type DirectorySignature,
  encodeBase64Url,
  keyThumbprint,
  type Tail,
  type VerificationEvidence,
} from '@countersign/protocol'
import { DELETED_OWNER_ID } from '../accounts/owner-table.ts'

/** The public data of an agent. Times are in milliseconds since 1970. */
export interface AgentRecord {
  readonly tail: Tail
  /** The current key, 32 bytes. */
  readonly publicKey: Uint8Array
  readonly ownerId: number
  /** Sequence number of the claim's event: the order of claims. */
  readonly seq: number
  /** Sequence number of the last event about the agent. Of two records, the one with the higher version is newer. */
  readonly version: number
  readonly status: AgentStatus
  readonly claimedAt: number
  readonly profile: AgentProfile
}

/** The data that most agents never change after their claim. Stored separately to keep the memory per agent small. */
export interface AgentProfile {
  /** The sequence number of the current key, from 1. */
  readonly keySequence: number
  readonly keyChangedAt: number
  /** A restored database lost the key: `publicKey` is its thumbprint, and nothing that it signs can be verified. */
  readonly isKeyLost: boolean
  readonly statusReason: string | null
  readonly statusChangedAt: number
  /** `day`: the public sees only the day of `statusChangedAt` and `updatedAt`. */
  readonly statusTime: 'exact' | 'day'
  readonly updatedAt: number
  readonly username: string | null
  readonly displayName: string | null
  readonly description: string | null
  /** Version id of the uploaded picture. Null: the picture is generated from the DID. */
  readonly avatar: string | null
  /** May have expired, or be one of a former key. */
  readonly directoryProof: StoredDirectoryProof | null
  readonly channels: readonly ChannelEvidence[]
  /** How many hops a chain of the agent may have, 0 to 3; 0 once it is revoked. */
  readonly maxDelegationDepth: number
  /** When the agent last moved to another owner; left out if it never did. */
  readonly ownerChangedAt?: number
}

/** The last signature that an agent made over its key set, as `agents.directory_proof` stores it. */
export interface StoredDirectoryProof extends DirectorySignature {
  /** The thumbprint of the key that signed. */
  readonly keyid: string
  /** Unix seconds. */
  readonly created: number
  readonly expires: number
}

/** The profile that an agent has right after its claim. `claimedAt` is in milliseconds since 1970. */
export function initialProfile(claimedAt: number): AgentProfile {
  return {
    keySequence: 1,
    keyChangedAt: claimedAt,
    isKeyLost: false,
    statusReason: null,
    statusChangedAt: claimedAt,
    statusTime: 'exact',
    updatedAt: claimedAt,
    username: null,
    displayName: null,
    description: null,
    avatar: null,
    directoryProof: null,
    channels: [],
    maxDelegationDepth: 0,
  }
}

/** The JWK thumbprint (RFC 7638) of the current key, base64url. */
export function thumbprintOf({ publicKey, profile }: AgentRecord): string {
  return profile.isKeyLost ? encodeBase64Url(publicKey) : keyThumbprint(publicKey)
}

/** The public data of an owner. */
export interface OwnerRecord {
  readonly id: number
  readonly username: string
  readonly displayName: string
  /** A deleted owner has no name, and all their agents are revoked. */
  readonly deleted: boolean
  readonly isOrganisation: boolean
  /** Oldest first. May include expired ones. */
  readonly verifications: readonly VerificationEvidence[]
  /** The strongest of them, expired or not. Computed once, since most requests need nothing else. */
  readonly strongest: VerificationEvidence | null
  /** When the username or display name last changed; null: never. */
  readonly nameChangedAt: number | null
  /** The verified names that the owner publishes, by provider. */
  readonly publishedNames: ReadonlyMap<string, string>
}

/** The owner of the agents of deleted accounts. */
export const DELETED_OWNER: OwnerRecord = {
  id: DELETED_OWNER_ID,
  username: '',
  displayName: '',
  deleted: true,
  isOrganisation: false,
  verifications: [],
  strongest: null,
  nameChangedAt: null,
  publishedNames: new Map(),
}

/** An agent and its owner: the input of every response about an agent. */
export interface AgentView {
  readonly agent: AgentRecord
  readonly owner: OwnerRecord
}
