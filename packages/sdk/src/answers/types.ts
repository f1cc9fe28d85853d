/**
 * What a service says, checked. The field that a deployment names after itself, `svcDid`, is always `did` here; all
 * else is named as in the contract. Times are ISO 8601 in UTC.
 */

/** Contract 3.1. */
export type AgentStatus = 'active' | 'suspended' | 'revoked'
/** How much a check of somebody's identity is worth. */
export type Assurance = 'low' | 'substantial' | 'high'
/** From the best, A, to the worst. */
export type Grade = 'A' | 'B' | 'C' | 'D' | 'E'
/** 2: domain or agent-to-agent; 1: chat or runtime. */
export type Tier = 1 | 2

/** A certificate and what is known of its owner (contract 4.1). */
export interface Lookup {
  /** True while the certificate is active. */
  readonly verified: boolean
  readonly owner: {
    /** The identity provider, null where the owner is not verified. */
    readonly identityMethod: string | null
    readonly identityLevel: 'verified' | 'unverified'
    readonly claimedAt: string
  }
  readonly certificate: {
    /** The DID. */
    readonly id: string
    readonly status: AgentStatus
    /** Relative to the service. */
    readonly verifyUrl: string
  }
}

/** The full card (contract 2.4). */
export interface Card {
  readonly did: string
  /** Chosen by the owner: text for people, which may be anything. */
  readonly displayName: string
  readonly username: string | null
  readonly description: string
  readonly avatarUrl: string
  readonly status: AgentStatus
  readonly claimedAt: string
  readonly owner: { readonly displayName: string; readonly username: string } | null
  readonly verification: {
    readonly provider: string
    readonly label: string
    readonly verifiedAt: string
  } | null
  readonly channels: readonly { readonly kind: string; readonly handleOrDomain: string }[]
  readonly grade: Grade
  readonly tier: Tier | null
  readonly gradeIsFallback: boolean
  readonly certificateUrl: string
}

/** The compact card (contract 2.5). */
export interface CompactCard {
  readonly displayName: string
  readonly owner: { readonly displayName: string; readonly username: string }
  readonly verificationStatus: 'verified' | 'claim' | 'unverified'
  /** With its leading `@`. */
  readonly chatHandle: string
  readonly certificateUrl: string
}

/** The agent object (contract 4.7): the card, the key, and where to go on. */
export interface AgentObject extends Card {
  /** 32 bytes in padded standard base64. */
  readonly publicKey: string
  /** RFC 7638. */
  readonly keyThumbprint: string
  readonly didWeb: string
  /** The identity provider, or `unverified`. */
  readonly identityLevel: string
  readonly statusChangedAt: string
  readonly statusReason: string | null
  readonly updatedAt: string
}

/** What a challenge and its answer have shown (contract 4.3). */
export interface Verification {
  /** The signature is valid, the key certified and the certificate active. The one to decide by. */
  readonly verified: boolean
  readonly signatureValid: boolean
  readonly certified: boolean
  /** The owner's identity provider, or `unverified`. */
  readonly identityLevel: string
  readonly agent: {
    readonly did: string
    readonly displayName: string
    readonly status: AgentStatus
  }
}

/** A DID document in the contract's form (4.7). */
export interface DidDocument {
  readonly '@context': readonly string[]
  readonly id: string
  readonly controller: string
  /** Empty once the agent is revoked. */
  readonly verificationMethod: readonly {
    readonly id: string
    readonly type: string
    readonly controller: string
    readonly publicKeyBase64: string
  }[]
  /** Empty while the agent is suspended, and once it is revoked. */
  readonly authentication: readonly string[]
  readonly service: readonly {
    readonly id: string
    readonly type: string
    readonly serviceEndpoint: string
  }[]
}

/** A DID document, and whether its agent is gone. */
export interface Resolution {
  readonly document: DidDocument
  readonly revoked: boolean
}

/** A grade with all that it is made of. */
export interface GradeReport {
  readonly did: string
  readonly status: AgentStatus
  /** Raised whenever the same facts could earn another letter. */
  readonly policyVersion: number
  readonly grade: Grade
  readonly tier: Tier | null
  readonly gradeIsFallback: boolean
  /** 0 to 2 each. */
  readonly points: { readonly identity: number; readonly reach: number }
  readonly evidence: {
    readonly verification: {
      readonly provider: string
      readonly label: string
      readonly assurance: Assurance
      readonly verifiedAt: string
      readonly expiresAt: string | null
    } | null
    readonly channel: {
      readonly kind: string
      readonly handleOrDomain: string
      readonly tier: Tier
      readonly checkedAt: string
      readonly freshUntil: string | null
    } | null
  }
  /** What would raise it, or null where nothing would. */
  readonly next: { readonly grade: Grade; readonly step: string } | null
}

/** A certificate that has just been issued (contract 4.4). */
export interface Claimed {
  readonly did: string
  /** For people. */
  readonly message: string
}
