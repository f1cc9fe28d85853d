import type {
  AgentStatus,
  Approval,
  Grade,
  SignatureProfile,
  SignatureReason,
  SignatureVerdict,
} from '@countersign/sdk'
import type { Level, Mode } from '../policy/policy.ts'
import type { Reason } from './reasons.ts'

/** What to do with a request: admit it; admit and mark it; admit it within a rate limit; refuse it. */
export type Action = 'allow' | 'flag' | 'limit' | 'deny'

/** The part of the service's data on an agent that decisions depend on. */
export interface AgentData {
  readonly did: string
  readonly status: AgentStatus
  /** Whether the certificate is active. Says nothing about whether the caller is this agent. */
  readonly verified: boolean
  /** The identity provider that verified the owner; null if the owner is not verified. */
  readonly identityMethod: string | null
  /** Null if the policy does not depend on it. */
  readonly grade: Grade | null
  /** Seconds since its key became the current one; absent if the policy does not depend on it. */
  readonly keyAgeSeconds?: number | undefined
  /** Seconds since it was transferred to its owner; null if it never was, absent if the policy does not depend on it. */
  readonly ownerAgeSeconds?: number | null | undefined
  /** The current key; absent if the gateway accepts neither signatures nor sessions. */
  readonly key?: AgentKey | undefined
  /** The number of the current key among the keys of the agent, from 1; absent with `key`. */
  readonly keySequence?: number | undefined
  /** Whether its key is logged, by the text of a tlog-policy; absent if no rule that applies depends on it. */
  readonly logged?: ReadonlyMap<string, LogState> | undefined
}

/**
 * Whether a key is logged. `log-unavailable`: it is not under a checkpoint of the service yet, or the log cannot be read.
 * Otherwise why the proof does not count.
 */
export type LogState = 'logged' | 'log-unavailable' | LogFault
export type LogFault =
  | 'key-not-logged'
  | 'log-proof-invalid'
  | 'log-not-accepted'
  | 'log-quorum-missing'

/** The key with which an agent signs. */
interface AgentKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** JWK thumbprint (RFC 7638), base64url. */
  readonly keyid: string
}

/**
 * How the caller proved possession of the agent's key: by the signature of this request (RFC 9421), by a session of this site
 * (`agentSignIn` of the SDK), or not at all. The identification header alone is never a proof.
 */
export type Proof = 'none' | 'session' | 'signature'

/** The result of verifying the signature of a request. */
export interface RequestSignature {
  readonly verdict: SignatureVerdict
  /** For your log. Null if the verdict is `verified`. */
  readonly reason: SignatureReason | null
  /** The JWK thumbprint that the signature names. Proven only with `verified`. */
  readonly keyid: string | null
  /** Where the signature says that its key is published. Proven only with `verified`. */
  readonly signatureAgent: string | null
  /** That of the signer's directory. `wba`: it may cover the host alone. Null if that was not decided. */
  readonly profile: SignatureProfile | null
  /** Whether it is known that the nonce was not used before. */
  readonly replay: 'checked' | 'unchecked'
  /** Whether the body was compared. `none`: the signature covers no digest, and no content was seen. */
  readonly digest: 'checked' | 'unchecked' | 'none'
  /** The `Content-Digest` that the agent signed; null without one or if the verdict is not `verified`. */
  readonly contentDigest: string | null
}

/** The error codes by status. 402 is FORBIDDEN, because the contract has no code for it. */
export const REFUSAL_CODES = {
  400: 'VALIDATION_ERROR',
  401: 'UNAUTHENTICATED',
  402: 'FORBIDDEN',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  429: 'RATE_LIMITED',
  503: 'UNAVAILABLE',
} as const

/** How a request is refused, or would be in shadow mode. */
export interface Refusal {
  readonly status: 400 | 401 | 402 | 403 | 404 | 429 | 503
  readonly code: (typeof REFUSAL_CODES)[keyof typeof REFUSAL_CODES]
  /** Set by the policy. Null: the message of the first reason. */
  readonly message: string | null
  readonly retryAfterSeconds: number | null
}

/**
 * A decision with its reasons. Frozen, because the same object is returned for many requests.
 *
 * If `proofOfPossession` is false, the data describes the agent that the caller claims to be, without proof.
 */
export interface Decision {
  /** The result of the policy. In shadow mode it is not enforced. */
  readonly action: Action
  /** Whether the request is passed on: always in shadow mode, otherwise unless `action` is `deny`. */
  readonly admitted: boolean
  readonly mode: Mode
  /** Null if another rule decided first. */
  readonly level: Level | null
  /** The first reason is the deciding one. */
  readonly reasons: readonly [Reason, ...Reason[]]
  readonly refusal: Refusal | null
  /** The agent that the request names; null if it names none, or an unreadable one. */
  readonly did: string | null
  /** Status of the certificate; null if there is none, or it is not known. */
  readonly status: AgentStatus | null
  /** Whether the certificate is active. Says nothing about whether the caller is this agent. */
  readonly verified: boolean
  /** The owner's identity provider, or `unverified`; null if there is no agent, or it is not known. */
  readonly identityLevel: string | null
  /** Null if it is not known. It is requested only if the policy has a `minimumGrade`. */
  readonly grade: Grade | null
  /** The service that certifies the agent, by its public origin; null if the request names no agent. */
  readonly issuer: string | null
  /**
   * Where the data comes from: the agent's certificate with the status list in memory, or with its staple; the service; the cache;
   * `stale`: any of these, older than the policy allows while the service is reachable.
   */
  readonly source: 'certificate' | 'staple' | 'service' | 'cache' | 'stale' | null
  /** How old the status is at most, in seconds; null if it is not known. */
  readonly statusAgeSeconds: number | null
  /** How the caller proved that it is this agent. */
  readonly proof: Proof
  /** Whether `proof` is not `none`. */
  readonly proofOfPossession: boolean
  /** Null if the request is not signed. */
  readonly signature: RequestSignature | null
  /**
   * The directory of the policy whose key signed the request; null for anyone else. Such a caller is no agent of the service: it has no
   * `did`, and `proof` is `none`.
   */
  readonly directory: string | null
  /** The delegate of the agent that signed the request; null if the agent itself did, or nobody has proved anything. */
  readonly delegation: Delegate | null
  /**
   * The owner's approval of this request, if a rule requires one and `action` is not `deny`; else null. It was used up, except in shadow mode:
   * there it may have been used before.
   */
  readonly approval: Approval | null
}

/** A key that an agent has delegated to. It has no DID of its own. */
export interface Delegate {
  /** The JWK thumbprint of the key: base64url, 43 characters. */
  readonly keyid: string
  /** How many delegations lead from the agent to it: 1 to 3. */
  readonly depth: number
  /** When its delegation expires, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** Why a certificate in a request is refused. */
export type CertificateFault =
  | 'certificate-invalid'
  | 'certificate-expired'
  | 'certificate-replaced'

/** What a decision about an agent is based on. */
export type Basis = Pick<Decision, 'issuer' | 'source' | 'statusAgeSeconds'>

/** A refusal as an HTTP response. */
export interface Denial {
  readonly status: Refusal['status']
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** A refused request, as passed to `onRefused`: the decision, and the response that the gateway would send by itself. */
export interface Refused extends Denial {
  readonly decision: Decision
}
