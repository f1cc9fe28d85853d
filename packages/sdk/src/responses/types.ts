/**
 * The responses of a service, checked. The field that a deployment names after itself, `svcDid`, is always `did` here;
 * all other fields have the names of the contract. Times are ISO 8601 in UTC. The wire schemas of the protocol are the
 * source: registry.ts does not compile if a type here differs from its schema.
 */

/** Contract 3.1. */
export type AgentStatus = 'active' | 'suspended' | 'revoked'
/** The assurance level of an identity verification, weakest first. */
export type Assurance = 'low' | 'substantial' | 'high'
/** A is best, E is lowest. */
export type Grade = 'A' | 'B' | 'C' | 'D' | 'E'
/** 2: a domain or an agent-to-agent endpoint; 1: a chat or a runtime. */
export type Tier = 1 | 2

/** A certificate and the identity level of its owner (contract 4.1). */
export interface Lookup {
  /** True while the certificate is active. */
  readonly verified: boolean
  readonly owner: {
    /** The identity provider; null if the owner is not verified. */
    readonly identityMethod: string | null
    readonly identityLevel: 'verified' | 'unverified'
    readonly claimedAt: string
  }
  readonly certificate: {
    /** The DID. */
    readonly id: string
    readonly status: AgentStatus
    /** URL of the certificate page, relative to the service. */
    readonly verifyUrl: string
  }
}

/** The full card (contract 2.4). */
export interface Card {
  readonly did: string
  /** Chosen by the owner: show it as text, and do not rely on it. */
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
  /** What is known about the owner's name. Services of older releases omit it. */
  readonly ownerName?: {
    /** Always true: owners choose `owner.displayName` themselves, and a verification does not verify it. */
    readonly selfDeclared: boolean
    /** When the display name or username last changed, for 90 days; else null. ISO 8601, UTC. */
    readonly changedAt: string | null
    /** The name that an identity provider verified, if the owner publishes it. */
    readonly verified: {
      readonly name: string
      readonly provider: string
      readonly label: string
      readonly verifiedAt: string
    } | null
  } | null
  /** Absent if the owner is a person. */
  readonly ownerKind?: 'organisation'
  /** True: the identity was verified by a provider for development. Do not rely on it. */
  readonly developmentOnly?: boolean
}

/** The compact card (contract 2.5). */
export interface CompactCard {
  readonly displayName: string
  readonly owner: { readonly displayName: string; readonly username: string }
  readonly verificationStatus: 'verified' | 'claim' | 'unverified'
  /** With its leading `@`. */
  readonly chatHandle: string
  readonly certificateUrl: string
  /** True: the identity was verified by a provider for development. Do not rely on it. */
  readonly developmentOnly?: boolean
}

/** The agent object (contract 4.7): the card, the key and links. */
export interface AgentObject extends Card {
  /** 32 bytes in padded standard base64. */
  readonly publicKey: string
  /** JWK thumbprint (RFC 7638) with SHA-256, base64url. */
  readonly keyThumbprint: string
  /** The number of the key among the keys of the agent, from 1. It only grows. */
  readonly keySequence: number
  /** When the key became the current one. */
  readonly keyChangedAt: string
  /** When the agent came to its owner. Absent if it was never transferred. */
  readonly ownerChangedAt?: string
  readonly didWeb: string
  /** The identity provider, or `unverified`. */
  readonly identityLevel: string
  readonly statusChangedAt: string
  readonly statusReason: string | null
  readonly updatedAt: string
  /** How many hops a chain of delegations of the agent may have; 0: it may not delegate. */
  readonly maxDelegationDepth: number
  /** Absolute URLs. */
  readonly links: {
    readonly self: string
    readonly lookup: string
    readonly card: string
    readonly compactCard: string
    readonly didDocument: string
    readonly certificate: string
  }
}

/** The result of verifying a signed challenge (contract 4.3). */
export interface Verification {
  /** Decide by this: the signature is valid, the key is certified and the certificate is active. */
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

/** A DID document, and whether the certificate is revoked. */
export interface Resolution {
  readonly document: DidDocument
  readonly revoked: boolean
}

/** A grade with its evidence. */
export interface GradeReport {
  readonly did: string
  readonly status: AgentStatus
  /** Incremented when a rule of grading changes. */
  readonly policyVersion: number
  readonly grade: Grade
  readonly tier: Tier | null
  readonly gradeIsFallback: boolean
  /** 0 to 2 each. Their sum gives the grade. */
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
  /** The next step to a better grade; null if there is none. */
  readonly next: { readonly grade: Grade; readonly step: string } | null
}

/** A certificate that has just been issued (contract 4.4). */
export interface Claimed {
  readonly did: string
  /** Text for people. */
  readonly message: string
}

/** The agent of an enrolment that has ended. */
export interface EnrolmentEnded {
  readonly did: string
  readonly status: AgentStatus
  /** Such as `enrolment_ended`; null if the service gives none. */
  readonly statusReason: string | null
}

/** The certificate of an agent that renounced it: suspended until `finalAt`, then revoked. */
export interface Renounced {
  readonly did: string
  readonly status: AgentStatus
  /** `renounced_by_agent`, unless the certificate was revoked before. */
  readonly statusReason: string | null
  readonly statusChangedAt: string
  /** When it is revoked, unless the owner stops that. Null: it is revoked. */
  readonly finalAt: string | null
}

/** A group of delegations, which ends without the others. */
export interface DelegationGroup {
  /** For `DelegationGroups.end`. */
  readonly id: string
  /** For `Agent.delegate`: a certificate of the agent with a status of its own, a JWT. */
  readonly certificate: string
  /** When the certificate expires: ISO 8601, UTC. */
  readonly expiresAt: string
}

/** A group of delegations has ended. */
export interface DelegationGroupEnded {
  readonly id: string
  /** Chains under its certificate are refused since then. */
  readonly endedAt: string
}

/** All delegations of an agent have ended. */
export interface DelegationsEnded {
  readonly did: string
  /** Chains under certificates from before this time are refused. Null: the agent may not delegate, so nothing ended. */
  readonly endedAt: string | null
}

/** The signature of an agent over its key set, which the service serves with it. */
export interface DirectoryProof {
  readonly did: string
  /** The JWK thumbprint of the key that signed. */
  readonly keyid: string
  readonly expiresAt: string
}

/** A grant for one authorization server. A secret: anyone who has it can redeem it there. */
export interface Grant {
  /** A JWT: the parameter `assertion` of the token request (RFC 7523). */
  readonly assertion: string
  /** The parameter `grant_type` of the token request: `urn:ietf:params:oauth:grant-type:jwt-bearer`. */
  readonly grantType: string
  /** The grant issuer, which the authorization server has to trust. */
  readonly issuer: string
  /** ISO 8601, at most 300 seconds away. */
  readonly expiresAt: string
}

/** An agent after its key was replaced. */
export interface Rotated {
  readonly did: string
  /** The number of the new key. */
  readonly keySequence: number
  readonly keyChangedAt: string
}

/** A redeemed recovery token: the new key becomes the current one later. */
export interface Recovering {
  readonly did: string
  /** The number that the new key will have. */
  readonly keySequence: number
  /** When the new key becomes the current one. */
  readonly effectiveAt: string
}

/** An agent after its key has vetoed a recovery. */
export interface Vetoed {
  readonly did: string
  readonly keySequence: number
}

/** The keys of an agent, former and current, and its pending recovery. */
export interface AgentKeys {
  readonly did: string
  /** The number of the current key. */
  readonly keySequence: number
  readonly keyChangedAt: string
  /** Oldest first. */
  readonly keys: readonly {
    readonly sequence: number
    /** JWK thumbprint (RFC 7638) with SHA-256, base64url. */
    readonly keyThumbprint: string
    readonly from: string
    /** Null: it is the current key. */
    readonly until: string | null
    /**
     * `retired`: it was replaced. `renounced`: it was replaced after it had renounced the agent. `compromised`: it was reported, for
     * every agent that has it. `lost`: the service lost it in a restore and knows its thumbprint only.
     */
    readonly state: 'current' | 'retired' | 'renounced' | 'compromised' | 'lost'
    /** How it became the current key. */
    readonly changedBy: 'claim' | 'rotation' | 'recovery' | 'contest'
  }[]
  /** A recovery that has not taken effect; null: none is pending. */
  readonly recovery: {
    readonly reason: 'key_lost' | 'key_compromised'
    readonly startedAt: string
    /** When an agent redeemed the token; null: none has. */
    readonly redeemedAt: string | null
    /** When the new key becomes the current one. */
    readonly effectiveAt: string | null
    /** Of the new key. */
    readonly keyThumbprint: string | null
  } | null
  /** The current key has renounced the agent, which is revoked at `finalAt` unless the owner stops that; null: it has not. */
  readonly renouncing: { readonly finalAt: string } | null
}

/** A challenge with which one agent can prove that it is running. */
export interface RuntimeChallenge {
  /** `svc-challenge-v1:<origin of the service>:<nonce>` */
  readonly challenge: string
  readonly expiresAt: string
}

/** The runtime channel of an agent after it answered a challenge. */
export interface RuntimeProof {
  readonly did: string
  readonly kind: string
  /** The owner's name for the place where the agent runs. */
  readonly handleOrDomain: string
  readonly verifiedAt: string
  /** When the agent last answered. */
  readonly checkedAt: string
  /** Until when the channel counts without another answer. */
  readonly freshUntil: string
  readonly grade: Grade
}
